/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_build.h - how a built-in template becomes a disk image
 */
#pragma once

#include <stdint.h>

#include "base/child.h"
#include "provision/template.h"

struct error;
struct progress;
struct template_ini;

struct template_build {
	const char *name;
	const struct template_ini *ini;
	int folder_fd;      /* empty, private, removed afterwards */
	const char *folder; /* its path */
	int disk_fd;        /* empty file, read and write */
	const struct progress *progress;
	enum template_place place;
	/* results */
	char id[80];      /* "sha256:…" */
	char source[128]; /* "mmdebstrap bookworm" */
	uint64_t size_bytes;
};

struct template_builder {
	const char *name;
	int (*run)(struct template_build *build, struct error *err);
};

/* The last row has no name. */
extern const struct template_builder template_builders[];

int template_build_debian(struct template_build *build, struct error *err);
int template_build_busybox(struct template_build *build, struct error *err);
/* Another template and packages of an npm registry. */
int template_build_npm(struct template_build *build, struct error *err);
/* Another template, and what its vendor's installer puts there. */
int template_build_vendor(struct template_build *build, struct error *err);
/*
 * Who runs an installer, in a sandbox, and writes the files of that to tar_fd:
 * the command line, which has sandboxes. Without it there are no such
 * templates.
 */
typedef int template_vendor_fn(const struct template_build *build, int tar_fd,
			       struct error *err);
void template_use_vendor(template_vendor_fn *fn);

/* bawn-image at work on a tar stream. */
struct template_image {
	struct child child;
	int result_fd, log_fd; /* owned */
};

/* tar_fd and progress_fd (or -1) are borrowed. */
int template_image_start(struct template_image *image,
			 const struct template_build *build, int tar_fd,
			 int progress_fd, struct error *err);
/* Waits; fills id and size of build. */
int template_image_finish(struct template_image *image,
			  struct template_build *build, struct error *err);
/* Ends it and waits. */
void template_image_kill(struct template_image *image);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_load.h - templates from archives: OCI layouts, `docker save`, plain
 * tars of root file systems, compressed or not
 */
#pragma once

#include "oci/reference.h"
#include "provision/template.h"

struct error;
struct image_run;
struct progress;
struct template_wish;

struct template_load {
	int fd;            /* a file, a pipe, or a folder; borrowed */
	const char *label; /* what people call it: for the name, and errors */
	const char *name;  /* what the first image is to be called; or NULL */
	bool alone;        /* the first image only, whatever else is there */
	/* how it is run, as image_run_to_json() says: fd is the plain tar of a
	 * disk then, whatever it looks like; or NULL */
	const struct image_run *run;
	enum template_place place;
	const struct progress *progress;
	/* what was loaded, once for each name */
	void (*loaded)(void *ctx, const char *name, const char *id);
	void *ctx;
};

int template_load(const struct template_load *load, struct error *err);
/* "/x/Root FS.tar.gz" is root-fs. */
void template_load_name(const char *label, char name[REFERENCE_TEXT_MAX]);
/* `docker save` of the engine of this machine, if there is one. */
int template_load_from_engine(const struct reference *reference,
			      const struct template_wish *wish,
			      struct error *err);

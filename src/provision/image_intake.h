/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_intake.h - an image from somewhere into the stores: its parts into the
 * cache, its layers into one disk
 *
 * Layers are unpacked while later ones still come. The disk is called by the
 * chain of its layers: what is there already is not made again, whatever the
 * image is called.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "oci/image.h"
#include "provision/blob_store.h"
#include "provision/image_process.h"
#include "provision/template.h"

struct error;
struct progress;

struct intake_source {
	const char *const *argv; /* of a process as in image_process.h */
	int input;               /* its descriptor 0; borrowed */
	/* for image_handlers.open; or NULL */
	int (*open)(void *ctx, const char *name, struct error *err);
	void *open_ctx;
	const char *title;         /* "pulling busybox:latest" */
	enum blob_store_rest rest; /* of parts that did not come whole */
};

struct intake {
	struct image image;
	json_t *facts; /* owned; the whole description; NULL: none came */
	char content[DIGEST_NAME_MAX];       /* id of the disk */
	char verdict[IMAGE_PROCESS_VERDICT]; /* why it failed; or "" */
	bool was_there;                      /* the disk */
	/* nobody prunes the disk before it has a name; owned, -1: none */
	int lock;
};

#define INTAKE_INIT ((struct intake){ .lock = -1 })

/* Release it also after a failure. */
int intake_run(const struct intake_source *source, enum template_place place,
	       const struct progress *progress, struct intake *intake,
	       struct error *err);
void intake_release(struct intake *intake);
#define AUTO_INTAKE __attribute__((cleanup(intake_release)))

/* The id of what these layers make: as every engine computes it. */
void intake_chain(const struct image *image, char id[DIGEST_NAME_MAX]);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - an image from an archive: OCI layout, `docker save`, or the plain
 * tar of a root file system
 *
 * The archive is an open file, without compression, or a folder (an OCI
 * layout) whose files the starter opens.
 */
#pragma once

#include <stddef.h>

struct error;
struct image_platform;

enum load_from {
	LOAD_TAR,    /* descriptor 0 */
	LOAD_FOLDER, /* through talk_open() */
};

/* number: which of its images; platform: for what, and of a plain tar too. */
int load_image(enum load_from from, size_t number,
	       const struct image_platform *platform, struct error *err);

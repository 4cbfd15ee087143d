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
	LOAD_DISK,   /* descriptor 0: the plain tar of a disk, whatever lies in
			it; talk_open() gives LOAD_CONFIG */
};

/* Of the image of a disk: "config", how it is run, and "created". */
#define LOAD_CONFIG "config.json"

/* number: which of its images; platform: for what, and of a plain tar too. */
int load_image(enum load_from from, size_t number,
	       const struct image_platform *platform, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * talk.h - bawn-image asks its starter, which has the store
 *
 * A process that reads what strangers send opens no file of the store: it
 * says what it found (an image), asks for each part of it, and gets a
 * descriptor to fill, or hears that the part is there already. Packets on
 * descriptor TALK_FD:
 *
 *   image     the image is written to TALK_IMAGE_FD; answer: go, or enough
 *   blob      digest, size; answer: have, or take with a descriptor
 *   open      name: of a file of the folder that is loaded; answer: none, or
 *             take with a descriptor
 *   done      digest: it is complete and right
 *   progress  parts: pairs of the number of a layer and its bytes
 *   failed    verdict: unreachable, denied, missing or failed; stderr says more
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct image;
struct image_descriptor;

#define TALK_FD 3
#define TALK_IMAGE_FD 4

/*
 * facts (borrowed, or NULL) are added to the image's own. 1: go on, 0: the
 * starter has all of it.
 */
int talk_image(const struct image *image, const json_t *facts,
	       struct error *err);
/* 1 and *fd (owned by the caller) when it is to be filled or read; 0: no. */
int talk_blob(const struct image_descriptor *descriptor, int *fd,
	      struct error *err);
/* The same for a file of the folder that is loaded. */
int talk_open(const char *name, int *fd, struct error *err);
int talk_done(const char *digest, struct error *err);
/* Takes the reference of parts; one that cannot be sent now is dropped. */
void talk_progress(json_t *parts);
void talk_failed(const char *verdict);

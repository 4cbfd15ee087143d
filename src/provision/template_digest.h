/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_digest.h - the name of an image by the digest of its manifest
 *
 * That is what `template ls` shows, and what registries call it by.
 */
#pragma once

struct error;
struct reference;

/*
 * id is "sha256:" and digits, perhaps not all. Of several names of one image
 * it is the first. 1 when there is one, 0 when there is none, -1 when images
 * are meant that differ.
 */
int template_digest_find(const char *id, struct reference *reference,
			 struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_manifest.h - template.json: what a template's disk must be
 */
#pragma once

struct error;
struct template;
struct template_build;

#define TEMPLATE_DISK "disk.ext4"

/* The disk is complete; makes it read-only and notes what it is. */
int template_manifest_save(int folder_fd, const struct template_build *build,
			   struct error *err);
/*
 * Fills id, source, created and the sizes. EBADMSG when the disk is not the
 * one that was made: size, inode and times are compared, and where they
 * differ (the folder came back from a backup) the content, once.
 */
int template_manifest_load(int folder_fd, struct template *template,
			   struct error *err);
/* Compares the content, whatever the times say. */
int template_manifest_verify(int folder_fd, struct error *err);

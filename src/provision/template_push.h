/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_push.h - templates to registries and into archives
 */
#pragma once

struct error;
struct progress;

/* To the registry that the name says. */
int template_push(const char *name, const struct progress *progress,
		  struct error *err);
/*
 * As an archive that `docker load`, skopeo and `bawn template load` read; fd is
 * borrowed, a file or a pipe.
 */
int template_save(const char *name, int fd, const struct progress *progress,
		  struct error *err);

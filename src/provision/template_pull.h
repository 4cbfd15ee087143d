/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_pull.h - a template by whatever name: ours, an image's, or an id
 */
#pragma once

#include "provision/template.h"

struct error;
struct progress;

enum template_policy {
	TEMPLATE_PULL_MISSING, /* fetch what is not there */
	TEMPLATE_PULL_ALWAYS,  /* see whether the name means something new */
	TEMPLATE_PULL_NEVER,
};

struct template_wish {
	const char *name;
	enum template_policy policy;
	enum template_place place;
	const struct progress *progress;
	/* NEVER: also ask the Docker engine of this machine */
	bool ask_engine;
};

/*
 * note (of 512 bytes) gets what people should know, or "": that one of ours
 * stands in for an image that cannot be reached.
 */
int template_obtain(const struct template_wish *wish, struct template *template,
		    char note[512], struct error *err);
/* A template's name in the spelling by which it is compared; malloc'd. */
char *template_canonical(const char *name);

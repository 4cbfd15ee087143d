/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_set.h - which kernel modules the guest gets, and in which order
 *
 * A package holds no modules.dep (depmod runs at installation), so what a
 * module needs is read from the module itself.
 */
#pragma once

#include <stddef.h>

struct error;

#define MODULE_SECTION_BYTES 16

struct module {
	char *name; /* as the kernel says it: '-' is '_' */
	char *path; /* absolute */
	char section[MODULE_SECTION_BYTES]; /* of the list, that wants it */
};

struct module_set {
	struct module *modules; /* load order: what is needed comes first */
	size_t count;
};

/* Reads the module at path (it may be compressed); out is malloc'd. */
typedef int module_read_fn(void *ctx, const char *path, void **out, size_t *len,
			   struct error *err);

/*
 * list is the text of modules.list, with its sections; tree is
 * /lib/modules/RELEASE of the kernel. Names that are built in are passed over;
 * names that do not exist are logged and passed over.
 */
int module_set_resolve(struct module_set *set, const char *list,
		       const char *tree, module_read_fn *read, void *ctx,
		       struct error *err);
void module_set_release(struct module_set *set);
/* Copies path's file name without ".ko…", '-' as '_'. -1: no module. */
int module_set_name_of(const char *path, char *name, size_t size);

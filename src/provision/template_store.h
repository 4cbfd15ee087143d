/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_store.h - folders that hold one disk each, made whole or not at all
 *
 * templates/NAME/ for built-in ones, images/content/HEX/ for images: the user's
 * own, or those that root made for everybody.
 */
#pragma once

#include "provision/template.h"
#include "state/paths.h"

struct error;
struct template_build;

#define TEMPLATE_STORE_NAMED "templates"
#define TEMPLATE_STORE_CONTENT "images/content"

struct template_store {
	enum template_place place;
	char *path; /* owned */
	int fd;     /* owned; -1 when closed */
};

#define TEMPLATE_STORE_INIT ((struct template_store){ .fd = -1 })

enum paths_kind template_store_kind(enum template_place place);
/* Makes it where it is missing. sub is one of the above. */
int template_store_open(struct template_store *store, enum template_place place,
			const char *sub, struct error *err);
void template_store_close(struct template_store *store);
#define AUTO_TEMPLATE_STORE __attribute__((cleanup(template_store_close)))

/* ENOENT when there is none. Does not fill the name. */
int template_store_load(enum paths_kind kind, const char *sub, const char *name,
			struct template *template, struct error *err);
/* The folder of one; *path (malloc'd) is filled also on failure. */
int template_store_folder(enum paths_kind kind, const char *sub,
			  const char *name, char **path, struct error *err);
/* Whoever makes or removes one holds this. */
int template_store_lock(const struct template_store *store, const char *name,
			bool wait, struct error *err);
int template_store_check_space(const struct template_store *store,
			       uint64_t needs, struct error *err);

/*
 * A new one, on its way: the lock is held. Between begin and finish the
 * build's disk_fd is filled, and its folder may be worked in. Finish puts it in
 * the place of an older one. End cleans up, whatever came before.
 */
struct template_making {
	const struct template_store *store;
	struct template_build *build;
	char *temp, *work;            /* owned */
	int temp_fd, work_fd, out_fd; /* owned */
	int disk_fd;                  /* owned */
};

int template_store_begin(struct template_making *making,
			 const struct template_store *store,
			 struct template_build *build, struct error *err);
int template_store_finish(struct template_making *making, struct error *err);
void template_store_end(struct template_making *making);
/* ENOENT when there is none. The lock is held. */
int template_store_remove(const struct template_store *store, const char *name,
			  struct error *err);
/* Removes what killed makers left. */
void template_store_clean(const struct template_store *store);
/* Calls each with the names of all, in no order. */
void template_store_each(enum paths_kind kind, const char *sub,
			 void (*each)(void *ctx, const char *name), void *ctx);

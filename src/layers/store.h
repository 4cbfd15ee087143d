/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - layers of images that sandboxes' engines pulled: cache/layers/
 *
 *   HEX.REGISTRY    complete: its SHA-256 is HEX; REGISTRY is a hash of where
 *                   it came from, since only that one knows who may have it
 *   partial.PID.N   on its way; whoever fills it holds its lock
 *
 * Several processes use it at a time. What enters was hashed here, by the
 * process that wrote it, and is on the disk before it has its name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct store_entry;

#define STORE_HEX 65
#define STORE_NAME_SIZE (STORE_HEX + 17)

struct store {
	int folder;         /* borrowed */
	uint64_t max_bytes; /* of all; the longest unused goes first */
	unsigned last;      /* number in a name */
};

/* Removes what a killed process left behind. */
void store_open(struct store *store, int folder, uint64_t max_bytes);
/* The file's name; -1: hex is no digest. Pure. */
int store_name(const char *hex, const char *registry,
	       char name[STORE_NAME_SIZE]);
/* Read-only, and used now; -1: there is none. */
int store_get(const struct store *store, const char *name, uint64_t *size);

/* NULL: there is no room. */
struct store_entry *store_begin(struct store *store, const char *name);
/* -1: it is too large, or the disk is full. */
int store_add(struct store_entry *entry, const void *bytes, size_t len);
/* Frees it. True: it was what its name says, and is there from now on. */
bool store_end(struct store_entry *entry);
/* Frees it, and what there is of it. */
void store_drop(struct store_entry *entry);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.h - make the folder of a new sandbox
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct error;
struct plan;
struct port_list;
struct request;
struct sandbox;
struct store;

struct created {
	bool is_new; /* false: another command made it meanwhile */
	int owner;   /* --rm: held as long as this command lives; else -1 */
};

/*
 * Record, variables and an empty disk, in a folder that appears by rename.
 * variables is borrowed.
 */
int create_sandbox(struct store *store, const struct request *request,
		   const struct plan *plan, const json_t *variables,
		   struct sandbox *sandbox, struct created *created,
		   struct error *err);
/* 32 hex digits, malloc'd; a uid of its own (0 when we are not root). */
char *create_id(void);
uid_t create_uid(const struct store *store);
/* A folder ".tmp-…" whose lock we hold; called under the global lock. */
int create_folder(const struct store *store, char hidden[32], int *lock,
		  struct error *err);
/* An empty disk of the plan's size in the sandbox's folder. */
int create_disk(const struct sandbox *sandbox, const struct plan *plan,
		struct error *err);
/* Adds to list what is wanted, each with a port of the host. */
int create_ports(const struct store *store, const struct port_list *wanted,
		 struct port_list *list, struct error *err);

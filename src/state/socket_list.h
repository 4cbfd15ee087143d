/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_list.h - which Unix sockets of the host a sandbox may connect to
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct error;

/* As many as the guest can be told (PROTOCOL.md §10). */
#define SOCKET_LIST_MAX 16
#define SOCKET_PATH_MAX 1024 /* with its NUL; in the guest 108 */
#define SOCKET_GUEST_MAX 108
/* The guest's way to the host's ssh-agent, where there is one. */
#define SOCKET_SSH_AGENT "/run/bawn/ssh-agent.sock"

struct socket_record {
	char *host;  /* absolute */
	char *guest; /* where it is inside: absolute */
};

struct socket_list {
	struct socket_record items[SOCKET_LIST_MAX];
	size_t count;
};

/*
 * The texts are copied. -1 with what is wrong: a path is not absolute or too
 * long, the list is full, or the guest has one at that path.
 */
int socket_list_add(struct socket_list *list,
		    const struct socket_record *socket, struct error *err);
void socket_list_copy(struct socket_list *to, const struct socket_list *from);
void socket_list_release(struct socket_list *list);

/* An array of {"host", "guest"}; NULL when a path is not UTF-8. */
json_t *socket_list_encode(const struct socket_list *list);
/* Strict; list is empty after an error. */
int socket_list_decode(const json_t *array, struct socket_list *list,
		       struct error *err);

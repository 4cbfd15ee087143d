/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_sockets.h - connections to the Unix sockets that a sandbox was given
 *
 * bawn-net has no paths: the launcher connects and hands the connection over.
 * Before the first connection to a socket it is asked who answers there, once
 * for each inode; Docker is refused (wire/docker_answer.h). So is a socket that
 * neither answers nor closes: it may be a daemon that is still coming up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/loop.h"

#define NAMED_SOCKETS_KNOWN 16
#define NAMED_SOCKETS_PROBES 32

struct error;
struct named_probe;

struct named_sockets {
	struct loop *loop; /* borrowed */
	/*
	 * fd is connected and taken over by the callee; or -1, with an errno
	 * and a text.
	 */
	void (*on_done)(void *ctx, uint32_t id, int fd, int code,
			const char *why);
	void *ctx;

	/* private */
	struct stat known[NAMED_SOCKETS_KNOWN]; /* st_nlink 0: none */
	unsigned next_known;
	struct named_probe *probes[NAMED_SOCKETS_PROBES];
};

/* Calls on_done() once, at once or later. */
void named_sockets_connect(struct named_sockets *sockets, const char *path,
			   uint32_t id);
/*
 * Connected, blocking, and asked nothing: for a program that speaks with it and
 * believes no answer. -1.
 */
int named_sockets_open(const char *path, struct error *err);
/* Connections that are not made yet are nobody's any more. */
void named_sockets_forget(struct named_sockets *sockets);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scout.h - a thread that goes before a walk and has the disk read
 *
 * Listings that a walk comes to are made ahead (walk.h), but on a cold disk the
 * thread that answers everybody waits for each folder and file of them, one
 * after the other. So another thread goes through the same folders before it,
 * asks for the attributes of what is in them and throws all of that away: what
 * it leaves behind is in the host's memory. It has nothing of the server's but
 * descriptors of folders, and answers nobody.
 *
 * It may ask for so much at first, and for more with each listing that the
 * guest has made use of. Where many folders in a row were there already it is
 * of no use, and rests until the next walk.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "files/walk.h"

struct error;
struct node;
struct server;

#define SCOUT_PLACES 8       /* folders that wait for it */
#define SCOUT_FIRST 4096     /* names, when a walk begins */
#define SCOUT_PER_USED 64    /* for each listing that was used */
#define SCOUT_MOST 16384     /* at once */
#define SCOUT_READY_NS 50000 /* no disk lists a folder that fast */
#define SCOUT_VAIN 64        /* folders in a row that were there already */

struct scout {
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t filled;
	int fds[SCOUT_PLACES]; /* where it goes next; a ring, owned */
	unsigned first, count;
	struct walk_stop last[SCOUT_PLACES]; /* where it was sent */
	unsigned last_count;
	unsigned credit; /* names that may still be asked for */
	bool back;       /* through each folder from its end */
	bool vain;       /* it is of no use to this walk */
	uint32_t walk;   /* counts them */
	bool running;
};

void scout_init(struct scout *scout);
/* When nothing but the seccomp filter is missing; see worker_start(). */
int scout_start(struct scout *scout, struct error *err);
/* Somebody walks through this folder and what is beneath it; `back`: from its
 * end. */
void scout_begin(struct server *server, unsigned share, struct node *folder,
		 bool back);
/* A listing more was used. */
void scout_go_on(struct scout *scout);
/* It is of no use to this walk. */
void scout_rest(struct scout *scout);
/* That walk is over. */
void scout_end(struct scout *scout);

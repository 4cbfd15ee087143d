/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scout.c - a thread that goes before a walk and has the disk read
 */
#include "files/scout.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "files/server.h"

#define STACK_BYTES (256U << 10)
#define DEPTH_MAX 24
#define ENTRIES_BYTES 4096
#define ENTRIES_MAX (ENTRIES_BYTES / 24) /* the least that one takes */

/* What the thread was sent for. */
struct errand {
	struct scout *scout;
	uint32_t walk;
	bool back;
	unsigned depth;
	unsigned vain; /* folders in a row that were there already */
};

/* A piece of a folder. */
struct names {
	char bytes[ENTRIES_BYTES] __attribute__((aligned(8)));
	uint16_t at[ENTRIES_MAX]; /* where in them they begin */
	unsigned count;
};

void scout_init(struct scout *scout)
{
	*scout = (struct scout){ 0 };
	pthread_mutex_init(&scout->lock, NULL);
	pthread_cond_init(&scout->filled, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Waits until a name may be asked for. False: the walk is over, or has no use
 * for it. */
static bool may_ask(struct errand *errand)
{
	struct scout *scout = errand->scout;
	bool may;

	pthread_mutex_lock(&scout->lock);
	while (!scout->credit && scout->walk == errand->walk)
		pthread_cond_wait(&scout->filled, &scout->lock);
	may = scout->walk == errand->walk;
	if (may && errand->vain >= SCOUT_VAIN)
		scout->vain = true;
	may = may && !scout->vain;
	if (may)
		scout->credit--;
	errand->back = scout->back;
	pthread_mutex_unlock(&scout->lock);
	return may;
}

static int open_inner(int folder, const char *name)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
}

static bool go_through(struct errand *errand, int fd);

static bool go_into(struct errand *errand, int folder, const char *name)
{
	AUTO_CLOSE int fd = -1;

	if (errand->depth == DEPTH_MAX)
		return true;
	fd = open_inner(folder, name);
	return fd < 0 || go_through(errand, fd);
}

static bool look_at(struct errand *errand, int folder, const char *name)
{
	struct statx st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	if (!may_ask(errand))
		return false;
	if (statx(folder, name,
		  AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		  STATX_BASIC_STATS, &st) < 0)
		return true;
	return !S_ISDIR(st.stx_mode) || go_into(errand, folder, name);
}

/* The next piece; false: there is none. */
static bool list(int fd, struct names *names)
{
	long n =
		syscall(SYS_getdents64, fd, names->bytes, sizeof(names->bytes));

	names->count = 0;
	for (long at = 0; at < n && names->count < ENTRIES_MAX;) {
		const struct dirent64 *entry =
			(const void *)(names->bytes + at);

		names->at[names->count++] = (uint16_t)at;
		at += entry->d_reclen;
	}
	return names->count;
}

/* False: that is enough. */
static bool go_through(struct errand *errand, int fd)
{
	struct names names;
	uint64_t began = now_ns();
	bool some = list(fd, &names), more = true;

	/* What a folder is waited for are its first names. */
	errand->vain = now_ns() - began < SCOUT_READY_NS ? errand->vain + 1 : 0;
	errand->depth++;
	while (some && more) {
		for (unsigned i = 0; i < names.count && more; i++) {
			unsigned at = errand->back ? names.count - 1 - i : i;
			const struct dirent64 *entry =
				(const void *)(names.bytes + names.at[at]);

			more = look_at(errand, fd, entry->d_name);
		}
		some = list(fd, &names);
	}
	errand->depth--;
	return more;
}

static void *run(void *ctx)
{
	struct scout *scout = ctx;

	pthread_mutex_lock(&scout->lock);
	scout->running = true;
	pthread_cond_broadcast(&scout->filled);
	for (;;) {
		struct errand errand = { .scout = scout };
		int fd;

		while (!scout->count)
			pthread_cond_wait(&scout->filled, &scout->lock);
		fd = scout->fds[scout->first];
		scout->first = (scout->first + 1) % SCOUT_PLACES;
		scout->count--;
		errand.walk = scout->walk;
		pthread_mutex_unlock(&scout->lock);
		go_through(&errand, fd);
		close(fd);
		pthread_mutex_lock(&scout->lock);
	}
	return NULL;
}

int scout_start(struct scout *scout, struct error *err)
{
	pthread_attr_t attr;
	pthread_t thread;
	int code;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	code = pthread_create(&thread, &attr, run, scout);
	pthread_attr_destroy(&attr);
	if (code)
		return error_set(err, code, "scout");
	/* It starts with system calls that it will not need again. */
	pthread_mutex_lock(&scout->lock);
	while (!scout->running)
		pthread_cond_wait(&scout->filled, &scout->lock);
	pthread_mutex_unlock(&scout->lock);
	return 0;
}

static bool was_there(const struct scout *scout, unsigned share, uint64_t id)
{
	for (unsigned i = 0; i < scout->last_count && i < SCOUT_PLACES; i++)
		if (scout->last[i].id == id && scout->last[i].share == share)
			return true;
	return false;
}

/* This folder, or one that it lies in, in this walk. */
static bool comes_there(struct server *server, unsigned share,
			const struct node *folder)
{
	for (; folder; folder = node_parent(server->nodes, folder))
		if (was_there(&server->scout, share,
			      node_table_id(server->nodes, folder)))
			return true;
	return false;
}

/* Consumes fd. */
static void add_place(struct scout *scout, unsigned share, uint64_t id, int fd)
{
	scout->fds[(scout->first + scout->count++) % SCOUT_PLACES] = fd;
	scout->last[scout->last_count++ % SCOUT_PLACES] =
		(struct walk_stop){ id, (uint8_t)share };
	if (scout->credit < SCOUT_FIRST)
		scout->credit = SCOUT_FIRST;
	pthread_cond_signal(&scout->filled);
}

void scout_begin(struct server *server, unsigned share, struct node *folder,
		 bool back)
{
	struct scout *scout = &server->scout;
	int fd = -1;

	pthread_mutex_lock(&scout->lock);
	scout->back = back;
	if (scout->running && scout->count < SCOUT_PLACES && !scout->vain &&
	    !comes_there(server, share, folder))
		fd = node_fds_folder(&server->fds, folder);
	if (fd >= 0)
		fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		add_place(scout, share, node_table_id(server->nodes, folder),
			  fd);
	pthread_mutex_unlock(&scout->lock);
}

void scout_go_on(struct scout *scout)
{
	pthread_mutex_lock(&scout->lock);
	scout->credit += SCOUT_PER_USED;
	if (scout->credit > SCOUT_MOST)
		scout->credit = SCOUT_MOST;
	pthread_cond_signal(&scout->filled);
	pthread_mutex_unlock(&scout->lock);
}

void scout_rest(struct scout *scout)
{
	pthread_mutex_lock(&scout->lock);
	scout->vain = true;
	pthread_mutex_unlock(&scout->lock);
}

void scout_end(struct scout *scout)
{
	pthread_mutex_lock(&scout->lock);
	for (; scout->count; scout->count--) {
		close(scout->fds[scout->first]);
		scout->first = (scout->first + 1) % SCOUT_PLACES;
	}
	scout->walk++;
	scout->credit = scout->last_count = 0;
	scout->vain = false;
	pthread_cond_signal(&scout->filled);
	pthread_mutex_unlock(&scout->lock);
}

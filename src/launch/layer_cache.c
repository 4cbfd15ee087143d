/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_cache.c - bawn-layers, started when bawn-net first needs it
 */
#include "launch/layer_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "ipc/packet.h"
#include "launch/profile.h"
#include "state/paths.h"

enum {
	PEER_FD = 3,
	FOLDER_FD = 4,
};

static void on_end(struct source *source, uint32_t events)
{
	struct layer_cache *cache =
		CONTAINER_OF(source, struct layer_cache, end);
	int status = 0;

	loop_del(source);
	source->fd = -1;
	(void)child_wait(&cache->child, &status, NULL);
}

void layer_caches_init(struct layer_caches *caches, struct loop *loop)
{
	caches->loop = loop;
	for (size_t i = 0; i < LAYER_CACHES_MAX; i++)
		caches->list[i].end = (struct source){ .name = "bawn-layers",
						       .fd = -1,
						       .events = EPOLLIN,
						       .on_event = on_end };
}

static int spawn(const char *path, int peer, struct child *child,
		 struct error *err)
{
	AUTO_CLOSE int folder =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FREE char *program = paths_helper("bawn-layers", err);
	const char *argv[] = { "bawn-layers", NULL };
	const struct child_fd fds[] = { { peer, PEER_FD },
					{ folder, FOLDER_FD } };
	const struct child_spec spec = { .path = program,
					 .argv = argv,
					 .fds = fds,
					 .fd_count = ARRAY_SIZE(fds),
					 .flags = CHILD_DIE_WITH_US,
					 .prepare = profile_leave_network };

	if (folder < 0)
		return error_set(err, errno, "%s", path);
	return program ? child_spawn(&spec, child, err) : -1;
}

int layer_caches_connect(struct layer_caches *caches, const char *folder,
			 struct error *err)
{
	struct layer_cache *cache = caches->list;
	AUTO_CLOSE int ours = -1;
	AUTO_CLOSE int theirs = -1;
	int ends[2];

	while (cache < caches->list + LAYER_CACHES_MAX && cache->end.fd >= 0)
		cache++;
	if (cache == caches->list + LAYER_CACHES_MAX)
		return error_set(err, EAGAIN, "layers");
	if (packet_pair(ends, err) < 0)
		return -1;
	ours = ends[0];
	theirs = ends[1];
	if (spawn(folder, theirs, &cache->child, err) < 0)
		return error_prefix(err, "layers");
	cache->end.fd = cache->child.pidfd;
	if (loop_add(caches->loop, &cache->end, err) < 0) {
		on_end(&cache->end, 0);
		return -1;
	}
	return TAKE_FD(ours);
}

void layer_caches_release(struct layer_caches *caches)
{
	for (size_t i = 0; i < LAYER_CACHES_MAX; i++) {
		struct layer_cache *cache = &caches->list[i];

		if (cache->end.fd < 0)
			continue;
		syscall(SYS_pidfd_send_signal, cache->child.pidfd, SIGKILL,
			NULL, 0);
		on_end(&cache->end, 0);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_filters.c - connections of a guest to the host's ssh-agent
 */
#include "launch/ssh_filters.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "launch/named_sockets.h"
#include "launch/profile.h"
#include "state/paths.h"
#include "wire/ssh_agent.h"

enum {
	GUEST_FD = 3,
	AGENT_FD = 4,
	KEYS_FD = 5,
};

static const char *text_of(const json_t *agent, const char *key)
{
	return json_string_value(json_object_get(agent, key));
}

int ssh_filters_check(json_t *agent, struct error *err)
{
	const char *socket, *keys;
	json_error_t why;

	if (json_is_null(agent))
		return 0;
	if (json_unpack_ex(agent, &why, JSON_STRICT, "{s:s, s:s}", "socket",
			   &socket, "keys", &keys) < 0)
		return error_set(err, 0, "net: ssh_agent: %s", why.text);
	if (socket[0] != '/' || !*keys || strlen(keys) % 2 ||
	    strlen(keys) > 2 * (SSH_AGENT_HEAD + SSH_AGENT_MESSAGE_MAX) ||
	    keys[strspn(keys, "0123456789abcdef")])
		return error_set(err, 0, "net: ssh_agent: a path and keys");
	return 0;
}

static void on_end(struct source *source, uint32_t events)
{
	struct ssh_filter *filter =
		CONTAINER_OF(source, struct ssh_filter, end);
	int status = 0;

	loop_del(source);
	source->fd = -1;
	(void)child_wait(&filter->child, &status, NULL);
}

void ssh_filters_init(struct ssh_filters *filters, struct loop *loop)
{
	filters->loop = loop;
	for (size_t i = 0; i < SSH_FILTERS_MAX; i++)
		filters->list[i].end = (struct source){ .name = "bawn-ssh",
							.fd = -1,
							.events = EPOLLIN,
							.on_event = on_end };
}

static int keys_file(const json_t *agent, struct error *err)
{
	const char *hex = text_of(agent, "keys");
	size_t len = strlen(hex) / 2;
	AUTO_FREE uint8_t *bytes = xmalloc(len + 1);
	AUTO_CLOSE int fd = memfd_create("keys", MFD_CLOEXEC);

	if (fd < 0 || text_unhex(hex, bytes, len) < 0 ||
	    fileio_write_all(fd, bytes, len, err) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "keys");
	return TAKE_FD(fd);
}

static int spawn(const struct ssh_filters *filters, const json_t *agent,
		 int guest, struct child *child, struct error *err)
{
	AUTO_CLOSE int upstream =
		named_sockets_open(text_of(agent, "socket"), err);
	AUTO_CLOSE int keys = upstream < 0 ? -1 : keys_file(agent, err);
	AUTO_FREE char *path = paths_helper("bawn-ssh", err);
	char uid[16];
	const char *argv[] = { "bawn-ssh", uid, NULL };
	const struct child_fd fds[] = { { guest, GUEST_FD },
					{ upstream, AGENT_FD },
					{ keys, KEYS_FD } };
	const struct child_spec spec = { .path = path,
					 .argv = argv,
					 .fds = fds,
					 .fd_count = ARRAY_SIZE(fds),
					 .flags = CHILD_DIE_WITH_US |
						  CHILD_NULL_STDIO,
					 .prepare = profile_leave_network };

	if (upstream < 0 || keys < 0 || !path)
		return -1;
	text_format(uid, sizeof(uid), "%u", (unsigned)filters->uid);
	return child_spawn(&spec, child, err);
}

int ssh_filters_connect(struct ssh_filters *filters, const json_t *agent,
			struct error *err)
{
	struct ssh_filter *filter = filters->list;
	AUTO_CLOSE int ours = -1;
	AUTO_CLOSE int theirs = -1;
	int ends[2];

	while (filter < filters->list + SSH_FILTERS_MAX && filter->end.fd >= 0)
		filter++;
	if (filter == filters->list + SSH_FILTERS_MAX)
		return error_set(err, EAGAIN, "ssh agent");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(err, errno, "ssh agent");
	ours = ends[0];
	theirs = ends[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0 ||
	    spawn(filters, agent, theirs, &filter->child, err) < 0)
		return error_prefix(err, "ssh agent");
	filter->end.fd = filter->child.pidfd;
	if (loop_add(filters->loop, &filter->end, err) < 0) {
		log_error("%s", err->text);
		on_end(&filter->end, 0);
		return -1;
	}
	return TAKE_FD(ours);
}

void ssh_filters_release(struct ssh_filters *filters)
{
	for (size_t i = 0; i < SSH_FILTERS_MAX; i++) {
		struct ssh_filter *filter = &filters->list[i];

		if (filter->end.fd < 0)
			continue;
		syscall(SYS_pidfd_send_signal, filter->child.pidfd, SIGKILL,
			NULL, 0);
		on_end(&filter->end, 0);
	}
}

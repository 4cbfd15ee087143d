/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_sockets.c - connections to the Unix sockets that a sandbox was given
 */
#include "launch/named_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "wire/docker_answer.h"

enum {
	/* Then it hears that no more comes: who waits for more closes. */
	HALF_CLOSE_MS = 3000,
	SILENT_MS = 12000, /* after that */
	READ_BYTES = 4096,
};

struct named_probe {
	struct named_sockets *sockets; /* borrowed */
	struct source source;          /* owns its descriptor */
	struct timer timer;
	int place; /* owned: O_PATH of the socket that is asked */
	struct stat st;
	uint32_t id;
	bool half_closed;
	struct buffer in;
};

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_nlink && a->st_dev == b->st_dev &&
	       a->st_ino == b->st_ino &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_known(const struct named_sockets *sockets, const struct stat *st)
{
	for (size_t i = 0; i < NAMED_SOCKETS_KNOWN; i++) {
		if (same(&sockets->known[i], st))
			return true;
	}
	return false;
}

/* The socket that place is, whatever lies at its path by now. */
static int connect_place(int place)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	text_format(address.sun_path, sizeof(address.sun_path),
		    "/proc/self/fd/%d", place);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return TAKE_FD(fd);
}

static void fail(struct named_sockets *sockets, uint32_t id, int code,
		 const char *why)
{
	sockets->on_done(sockets->ctx, id, -1, code,
			 why ? why : strerror(code));
}

static void hand_over(struct named_sockets *sockets, uint32_t id, int place)
{
	int fd = connect_place(place);

	if (fd < 0)
		fail(sockets, id, errno, NULL);
	else
		sockets->on_done(sockets->ctx, id, fd, 0, NULL);
}

static void drop(struct named_probe *probe)
{
	struct named_sockets *sockets = probe->sockets;

	for (size_t i = 0; i < NAMED_SOCKETS_PROBES; i++) {
		if (sockets->probes[i] == probe)
			sockets->probes[i] = NULL;
	}
	loop_del(&probe->source);
	timer_stop(&probe->timer);
	if (probe->source.fd >= 0)
		close(probe->source.fd);
	close(probe->place);
	buffer_release(&probe->in);
	loop_defer_free(sockets->loop, probe);
}

static void refuse(struct named_probe *probe, int code, const char *why)
{
	log_warn("a named socket is refused: %s", why);
	fail(probe->sockets, probe->id, code, why);
	drop(probe);
}

static void accept_place(struct named_probe *probe)
{
	struct named_sockets *sockets = probe->sockets;

	sockets->known[sockets->next_known++ % NAMED_SOCKETS_KNOWN] = probe->st;
	hand_over(sockets, probe->id, probe->place);
	drop(probe);
}

static void judge(struct named_probe *probe)
{
	switch (docker_answer_read(probe->in.data, probe->in.len)) {
	case DOCKER_ANSWER_OTHER:
		accept_place(probe);
		break;
	case DOCKER_ANSWER_DOCKER:
		refuse(probe, EACCES,
		       "a Docker daemon answers there, which is root on this "
		       "host");
		break;
	case DOCKER_ANSWER_MORE:
		break;
	}
}

static void on_answer(struct source *source, uint32_t events)
{
	struct named_probe *probe =
		CONTAINER_OF(source, struct named_probe, source);
	char bytes[READ_BYTES];
	ssize_t n = recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* It did not like the question, which Docker does. */
	if (n <= 0) {
		accept_place(probe);
		return;
	}
	/* Over the maximum the answer is known already. */
	if (buffer_append(&probe->in, bytes, (size_t)n) == 0)
		judge(probe);
}

static void on_silence(struct timer *timer)
{
	struct named_probe *probe =
		CONTAINER_OF(timer, struct named_probe, timer);

	if (probe->half_closed) {
		refuse(probe, ETIMEDOUT, "it does not say what it is");
		return;
	}
	probe->half_closed = true;
	shutdown(probe->source.fd, SHUT_WR);
	timer_start(probe->sockets->loop, timer, SILENT_MS);
}

static struct named_probe *new_probe(struct named_sockets *sockets)
{
	size_t i = 0;

	while (i < NAMED_SOCKETS_PROBES && sockets->probes[i])
		i++;
	if (i == NAMED_SOCKETS_PROBES)
		return NULL;
	sockets->probes[i] = xcalloc(1, sizeof(struct named_probe));
	*sockets->probes[i] = (struct named_probe){
		.sockets = sockets,
		.source = { .name = "named socket",
			    .fd = -1,
			    .events = EPOLLIN,
			    .on_event = on_answer },
		.timer = { .name = "named socket", .on_fire = on_silence },
		.in = BUFFER_INIT(DOCKER_ANSWER_MAX + READ_BYTES),
	};
	return sockets->probes[i];
}

/* Takes place over. */
static void ask(struct named_sockets *sockets, uint32_t id, int place,
		const struct stat *st)
{
	struct named_probe *probe = new_probe(sockets);
	const size_t len = strlen(DOCKER_ANSWER_QUESTION);

	if (!probe) {
		close(place);
		fail(sockets, id, EAGAIN, NULL);
		return;
	}
	probe->place = place;
	probe->st = *st;
	probe->id = id;
	probe->source.fd = connect_place(place);
	if (probe->source.fd < 0 ||
	    loop_add(sockets->loop, &probe->source, NULL) < 0) {
		fail(sockets, id, errno, NULL);
		drop(probe);
		return;
	}
	/* One that has hung up already is seen by the read. */
	(void)!send(probe->source.fd, DOCKER_ANSWER_QUESTION, len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
	timer_start(sockets->loop, &probe->timer, HALF_CLOSE_MS);
}

/* The path was real when it was given; a link on it is somebody's trick. */
static int open_place(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

void named_sockets_connect(struct named_sockets *sockets, const char *path,
			   uint32_t id)
{
	AUTO_CLOSE int place = open_place(path);
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0)
		fail(sockets, id, errno, NULL);
	else if (!S_ISSOCK(st.st_mode))
		fail(sockets, id, ENOTSOCK, NULL);
	else if (is_known(sockets, &st))
		hand_over(sockets, id, place);
	else
		ask(sockets, id, TAKE_FD(place), &st);
}

int named_sockets_open(const char *path, struct error *err)
{
	AUTO_CLOSE int place = open_place(path);
	AUTO_CLOSE int fd = place < 0 ? -1 : connect_place(place);

	if (fd < 0 || fcntl(fd, F_SETFL, 0) < 0)
		return error_set(err, errno, "%s", path);
	return TAKE_FD(fd);
}

void named_sockets_forget(struct named_sockets *sockets)
{
	for (size_t i = 0; i < NAMED_SOCKETS_PROBES; i++) {
		if (sockets->probes[i])
			drop(sockets->probes[i]);
	}
}

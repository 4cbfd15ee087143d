/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.c - the supervisor's side of bawn-launch, and the ports that are
 * served there
 */
#include "supervisor/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/start_spec.h"
#include "proto/bulk.h"
#include "proto/rings.h"
#include "proto/slots.h"
#include "state/paths.h"

enum {
	LAUNCH_FD_CHANNEL = 3,
	LAUNCH_FD_PORT,
	LAUNCH_FD_MESSAGE,
	LAUNCH_FD_NET_PORT,
	LAUNCH_FD_SLOTS,
	LAUNCH_FD_TO_GUEST,
	LAUNCH_FD_FROM_GUEST,
	LAUNCH_FD_RINGS,
	LAUNCH_FD_BELL,
};

static void on_event(struct source *source, uint32_t events);

static int pair(int *one, int *other, struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(err, errno, "socketpair");
	*one = ends[0];
	*other = ends[1];
	return 0;
}

/* Sealed: whoever has it cannot shorten it under the others. */
static int make_memory(const char *name, off_t size, struct error *err)
{
	AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
		    0)
		return error_set(err, errno, "%s", name);
	return TAKE_FD(fd);
}

static int open_for_reading(int memory, struct error *err)
{
	char path[32];
	int fd;

	text_format(path, sizeof(path), "/proc/self/fd/%d", memory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? error_set(err, errno, "%s", path) : fd;
}

/*
 * Each has one writer. Which that is, the descriptors decide: QEMU, and so its
 * guest, gets the one of what the host writes for reading alone.
 */
static int make_memories(struct launcher *launcher, struct error *err)
{
	launcher->slots = make_memory("slots", SLOTS_BYTES, err);
	launcher->to_guest = make_memory("to-guest", BULK_BYTES, err);
	launcher->qemu_from_guest = make_memory("from-guest", BULK_BYTES, err);
	launcher->rings = make_memory("rings", RINGS_BYTES, err);
	if (launcher->slots < 0 || launcher->to_guest < 0 ||
	    launcher->qemu_from_guest < 0 || launcher->rings < 0)
		return -1;
	launcher->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (launcher->bell < 0)
		return error_set(err, errno, "bell");
	launcher->qemu_slots = open_for_reading(launcher->slots, err);
	launcher->qemu_to_guest = open_for_reading(launcher->to_guest, err);
	launcher->from_guest = open_for_reading(launcher->qemu_from_guest, err);
	return launcher->qemu_slots < 0 || launcher->qemu_to_guest < 0 ||
			       launcher->from_guest < 0
		       ? -1
		       : 0;
}

static int tell_qemu(int socket, int64_t word, int fd, struct error *err)
{
	struct iovec piece = { &word, sizeof(word) };
	union {
		char bytes[CMSG_SPACE(sizeof(fd))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *head = &control.align;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	if (sendmsg(socket, &message, MSG_NOSIGNAL) != (ssize_t)sizeof(word))
		return error_set(err, errno, "bell");
	return 0;
}

/*
 * The rings and their bell are one device of QEMU's (ivshmem-doorbell), which
 * asks a server for its memory and for its peers when it starts. All that the
 * server has to say is said before: version, number, peer, memory.
 */
static int make_bell(struct launcher *launcher, struct error *err)
{
	const struct {
		int64_t word;
		int fd;
	} talk[] = {
		{ 0, -1 },
		{ 0, -1 },
		{ RINGS_BELL_PEER, launcher->bell },
		{ -1, launcher->rings },
	};

	if (pair(&launcher->bell_talk, &launcher->qemu_bell, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(talk); i++) {
		if (tell_qemu(launcher->bell_talk, talk[i].word, talk[i].fd,
			      err) < 0)
			return -1;
	}
	return 0;
}

static char *message_text(const struct start_spec *spec)
{
	/* Both were checked with the start line. */
	json_t *files =
		spec->files ? json_loads(spec->files, 0, NULL) : json_null();
	json_t *net = spec->net ? json_loads(spec->net, 0, NULL) : json_null();
	json_t *message = json_pack(
		"{s:s, s:s, s:s?, s:b, s:I, s:o, s:o}", "name", spec->name,
		"folder", spec->folder, "marker", spec->marker, "remove_at_end",
		spec->remove_at_end, "uid", (json_int_t)spec->uid, "files",
		files, "net", net);
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	json_decref(message);
	return text;
}

/* A file and not a pipe: a long list would fill a pipe. */
static int message_file(const struct start_spec *spec, struct error *err)
{
	AUTO_FREE char *text = message_text(spec);
	AUTO_CLOSE int fd = memfd_create("launch", MFD_CLOEXEC);

	if (!text)
		return error_set(err, EILSEQ, "bawn-launch");
	if (fd < 0 || fileio_write_all(fd, text, strlen(text), err) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "bawn-launch: start message");
	return TAKE_FD(fd);
}

static int spawn(struct launcher *launcher, const struct start_spec *spec,
		 const int ports[LAUNCHER_PORTS], int log_fd, struct error *err)
{
	AUTO_FREE char *path = paths_helper("bawn-launch", err);
	AUTO_CLOSE int theirs = -1;
	AUTO_CLOSE int message = message_file(spec, err);
	const char *argv[] = { "bawn-launch", spec->name, NULL };
	struct child_fd fds[] = { { log_fd, 2 },
				  { -1, LAUNCH_FD_CHANNEL },
				  { ports[LAUNCHER_FILES], LAUNCH_FD_PORT },
				  { message, LAUNCH_FD_MESSAGE },
				  { ports[LAUNCHER_NET], LAUNCH_FD_NET_PORT },
				  { launcher->slots, LAUNCH_FD_SLOTS },
				  { launcher->to_guest, LAUNCH_FD_TO_GUEST },
				  { launcher->from_guest,
				    LAUNCH_FD_FROM_GUEST },
				  { launcher->rings, LAUNCH_FD_RINGS },
				  { launcher->bell, LAUNCH_FD_BELL } };
	struct child_spec child_spec = { .path = path,
					 .argv = argv,
					 .fds = fds,
					 .fd_count = ARRAY_SIZE(fds),
					 .flags = CHILD_NULL_STDIO };
	struct child child;

	if (!path || message < 0 || pair(&launcher->channel, &theirs, err) < 0)
		return -1;
	fds[1].from = theirs;
	if (child_spawn(&child_spec, &child, err) < 0)
		return -1;
	/* Its end shows on the channel. */
	close(child.pidfd);
	return 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_all(int fds[LAUNCHER_PORTS])
{
	for (int i = 0; i < LAUNCHER_PORTS; i++)
		close_one(&fds[i]);
}

static void close_memories(struct launcher *launcher)
{
	close_one(&launcher->slots);
	close_one(&launcher->qemu_slots);
	close_one(&launcher->to_guest);
	close_one(&launcher->qemu_to_guest);
	close_one(&launcher->from_guest);
	close_one(&launcher->qemu_from_guest);
	close_one(&launcher->rings);
	close_one(&launcher->bell);
	close_one(&launcher->qemu_bell);
}

int launcher_open(struct launcher *launcher, const struct start_spec *spec,
		  int log_fd, struct error *err)
{
	*launcher = (struct launcher){ .channel = -1,
				       .ports = { -1, -1 },
				       .qemu_ports = { -1, -1 },
				       .slots = -1,
				       .qemu_slots = -1,
				       .to_guest = -1,
				       .from_guest = -1,
				       .qemu_to_guest = -1,
				       .qemu_from_guest = -1,
				       .rings = -1,
				       .bell = -1,
				       .qemu_bell = -1,
				       .bell_talk = -1 };
	if (make_memories(launcher, err) < 0 || make_bell(launcher, err) < 0)
		return -1;
	for (int i = 0; i < LAUNCHER_PORTS; i++) {
		if (pair(&launcher->ports[i], &launcher->qemu_ports[i], err) <
		    0)
			return -1;
	}
	if (spec->goal == START_MAKE_WARM)
		return 0;
	if (spawn(launcher, spec, launcher->ports, log_fd, err) < 0)
		return -1;
	close_all(launcher->ports);
	return 0;
}

void launcher_ports_passed(struct launcher *launcher)
{
	/* With a copy here nobody would see QEMU's end. */
	close_all(launcher->qemu_ports);
	close_memories(launcher);
}

static void take_line(struct launcher *launcher, const char *line, size_t len)
{
	static const char failed[] = "failed ", lacks[] = "lacks ",
			  traffic[] = "traffic ";
	void (*tell)(void *ctx, const char *text) = NULL;
	char text[LAUNCHER_LINE_MAX];
	size_t word = 0;

	if (len == strlen("frozen") && !memcmp(line, "frozen", len)) {
		launcher->on_frozen(launcher->ctx);
		return;
	}
	if (len == strlen(traffic) && !memcmp(line, traffic, len)) {
		launcher->on_traffic(launcher->ctx);
		return;
	}
	if (len >= strlen(failed) && !memcmp(line, failed, strlen(failed))) {
		tell = launcher->on_failed;
		word = strlen(failed);
	} else if (len >= strlen(lacks) &&
		   !memcmp(line, lacks, strlen(lacks))) {
		tell = launcher->on_lacks;
		word = strlen(lacks);
	}
	if (!tell)
		return;
	text_printable(line + word, len - word, text, sizeof(text));
	tell(launcher->ctx, text);
}

static void on_event(struct source *source, uint32_t events)
{
	struct launcher *launcher =
		CONTAINER_OF(source, struct launcher, source);
	ssize_t n = read(source->fd, launcher->line + launcher->len,
			 sizeof(launcher->line) - launcher->len);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		launcher->len += (size_t)n;
	while ((end = memchr(launcher->line, '\n', launcher->len))) {
		size_t used = (size_t)(end - launcher->line) + 1;

		take_line(launcher, launcher->line, used - 1);
		launcher->len -= used;
		memmove(launcher->line, launcher->line + used, launcher->len);
	}
	if (n > 0 && launcher->len < sizeof(launcher->line))
		return;
	loop_del(source);
	launcher->on_end(launcher->ctx);
}

int launcher_watch(struct launcher *launcher, struct loop *loop,
		   struct error *err)
{
	if (launcher->channel < 0)
		return 0;
	launcher->source = (struct source){ .name = "launcher",
					    .fd = launcher->channel,
					    .events = EPOLLIN,
					    .on_event = on_event };
	if (fcntl(launcher->channel, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "launcher");
	return loop_add(loop, &launcher->source, err);
}

/* Both are short, and the channel carries nothing else in this direction. */
static void say(struct launcher *launcher, const char *line)
{
	if (launcher->channel >= 0 &&
	    send(launcher->channel, line, strlen(line),
		 MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_warn("bawn-launch: %s", strerror(errno));
}

void launcher_freeze(struct launcher *launcher, const uint8_t marker[32])
{
	char hex[65], line[80];

	text_hex(marker, 32, hex);
	text_format(line, sizeof(line), "freeze %s\n", hex);
	say(launcher, line);
}

void launcher_thaw(struct launcher *launcher)
{
	say(launcher, "thaw\n");
}

void launcher_close(struct launcher *launcher)
{
	loop_del(&launcher->source);
	close_one(&launcher->channel);
	close_one(&launcher->bell_talk);
	close_all(launcher->ports);
	close_all(launcher->qemu_ports);
	close_memories(launcher);
}

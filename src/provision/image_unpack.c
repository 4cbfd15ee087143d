/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_unpack.c - bawn-image at work on the layers of an image
 */
#include "provision/image_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/image.h"
#include "provision/tool.h"
#include "state/paths.h"

/* As src/image/layers.h and src/image/main.c have them. */
#define READY_FD 3
#define DISK_FD 4
#define PROGRESS_FD 5
#define LAYERS_FD 10
#define FIXED_FDS 6
#define RESULT_MAX 4096
#define LINE_MAX_BYTES 4096

AUTO_DEFINE(json, json_t *, json_decref)

static void close_fds(struct image_unpack *unpack)
{
	int *const fds[] = { &unpack->result_fd, &unpack->log_fd,
			     &unpack->ready_fd, &unpack->progress_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	buffer_release(&unpack->line);
	unpack->running = false;
}

static const char **arguments(const struct image *image, const char *size)
{
	const char **argv = xcalloc(2 * image->layer_count + 5, sizeof(char *));
	size_t n = 0;

	argv[n++] = "bawn-image";
	argv[n++] = "layers";
	argv[n++] = "--size";
	argv[n++] = size;
	for (size_t i = 0; i < image->layer_count; i++) {
		argv[n++] = "--layer";
		argv[n++] = image->diff_ids[i];
	}
	return argv;
}

static int spawn(struct image_unpack *unpack, const struct image *image,
		 const struct child_fd *fds, uint64_t size_bytes,
		 struct error *err)
{
	AUTO_FREE char *path = paths_helper("bawn-image", err);
	char size[24];
	AUTO_FREE const char **argv = NULL;
	struct child_spec spec = { .path = path,
				   .env = tool_env(),
				   .fds = fds,
				   .fd_count = FIXED_FDS + image->layer_count,
				   .flags = CHILD_DIE_WITH_US };

	if (!path)
		return -1;
	text_format(size, sizeof(size), "%" PRIu64, size_bytes);
	argv = arguments(image, size);
	spec.argv = argv;
	if (child_spawn(&spec, &unpack->child, err) < 0)
		return error_prefix(err, "bawn-image");
	unpack->running = true;
	return 0;
}

int image_unpack_start(struct image_unpack *unpack, const struct image *image,
		       const int *layers, int disk_fd, uint64_t size_bytes,
		       struct error *err)
{
	AUTO_FREE struct child_fd *fds =
		xcalloc(FIXED_FDS + image->layer_count, sizeof(*fds));
	AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int ready[2] = { -1, -1 }, progress[2] = { -1, -1 };
	int result = -1;

	*unpack = (struct image_unpack){ .child = { .pidfd = -1 },
					 .ready_fd = -1,
					 .progress_fd = -1,
					 .bad_layer = SIZE_MAX };
	buffer_init(&unpack->line, LINE_MAX_BYTES);
	unpack->result_fd = memfd_create("image result", MFD_CLOEXEC);
	unpack->log_fd = memfd_create("image log", MFD_CLOEXEC);
	if (null < 0 || unpack->result_fd < 0 || unpack->log_fd < 0 ||
	    pipe2(ready, O_CLOEXEC) < 0 || pipe2(progress, O_CLOEXEC) < 0)
		error_set(err, errno, "bawn-image");
	else {
		fds[0] = (struct child_fd){ null, 0 };
		fds[1] = (struct child_fd){ unpack->result_fd, 1 };
		fds[2] = (struct child_fd){ unpack->log_fd, 2 };
		fds[3] = (struct child_fd){ ready[0], READY_FD };
		fds[4] = (struct child_fd){ disk_fd, DISK_FD };
		fds[5] = (struct child_fd){ progress[1], PROGRESS_FD };
		for (size_t i = 0; i < image->layer_count; i++)
			fds[FIXED_FDS + i] =
				(struct child_fd){ layers[i],
						   LAYERS_FD + (int)i };
		result = spawn(unpack, image, fds, size_bytes, err);
	}
	if (ready[0] >= 0)
		close(ready[0]);
	if (progress[1] >= 0)
		close(progress[1]);
	unpack->ready_fd = ready[1];
	unpack->progress_fd = progress[0];
	if (result == 0)
		result = fcntl(progress[0], F_SETFL, O_NONBLOCK) < 0
				 ? error_set(err, errno, "pipe")
				 : 0;
	if (result < 0 && !unpack->running)
		close_fds(unpack);
	return result;
}

void image_unpack_ready(struct image_unpack *unpack, size_t count)
{
	struct error unread;

	for (; count > 0; count--)
		if (fileio_write_all(unpack->ready_fd, "", 1, &unread) < 0)
			return;
}

static void take_line(struct image_unpack *unpack, char *line)
{
	char *space = strchr(line, ' ');
	uint64_t layer, bytes;

	if (!space)
		return;
	*space = '\0';
	if (text_to_u64(line, 0, IMAGE_LAYERS_MAX, &layer) < 0 ||
	    text_to_u64(space + 1, 0, UINT64_MAX, &bytes) < 0)
		return;
	unpack->layer = (size_t)layer;
	unpack->bytes = bytes;
}

void image_unpack_listen(struct image_unpack *unpack)
{
	char bytes[1024], *end;
	ssize_t got = read(unpack->progress_fd, bytes, sizeof(bytes));

	if (got <= 0 || buffer_append(&unpack->line, bytes, (size_t)got) < 0) {
		buffer_consume(&unpack->line, unpack->line.len);
		return;
	}
	while ((end = memchr(unpack->line.data, '\n', unpack->line.len))) {
		*end = '\0';
		take_line(unpack, (char *)unpack->line.data);
		buffer_consume(&unpack->line,
			       (size_t)(end - (char *)unpack->line.data) + 1);
	}
}

static void read_result(struct image_unpack *unpack)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RESULT_MAX);
	AUTO(json) json_t *root = NULL;
	const json_t *bad;

	if (lseek(unpack->result_fd, 0, SEEK_SET) < 0 ||
	    fileio_read_fd(unpack->result_fd, &text, NULL) < 0 || !text.len)
		return;
	root = json_loadb((const char *)text.data, text.len, 0, NULL);
	bad = json_object_get(root, "bad_layer");
	unpack->size_bytes =
		(uint64_t)json_integer_value(json_object_get(root, "size"));
	if (json_is_integer(bad) && json_integer_value(bad) >= 0)
		unpack->bad_layer = (size_t)json_integer_value(bad);
}

int image_unpack_finish(struct image_unpack *unpack, struct error *err)
{
	char *text;
	int result;

	/* nothing more will come: who still waits must not wait for ever */
	close(unpack->ready_fd);
	unpack->ready_fd = -1;
	result = tool_wait(&unpack->child, "bawn-image", unpack->log_fd, NULL,
			   NULL, err);
	read_result(unpack);
	text = result < 0 ? strstr(err->text, ": error: ") : NULL;
	if (text)
		memmove(err->text, text + strlen(": error: "),
			strlen(text + strlen(": error: ")) + 1);
	if (result == 0 && !unpack->size_bytes)
		result = error_set(err, 0, "bawn-image gave no result");
	close_fds(unpack);
	return result;
}

void image_unpack_kill(struct image_unpack *unpack)
{
	int status;

	if (!unpack->running)
		return;
	syscall(SYS_pidfd_send_signal, unpack->child.pidfd, SIGKILL, NULL, 0);
	(void)child_wait(&unpack->child, &status, NULL);
	close_fds(unpack);
}

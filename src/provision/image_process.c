/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_process.c - bawn-registry or bawn-image at work, and what it asks for
 */
#include "provision/image_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/packet.h"
#include "oci/image.h"
#include "provision/tool.h"
#include "state/paths.h"

#define TALK_FD 3
#define MEMORY_FD 4

AUTO_DEFINE(json, json_t *, json_decref)

static void close_fds(struct image_process *process)
{
	int *const fds[] = { &process->talk_fd, &process->log_fd,
			     &process->memory_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int image_process_text(const char *text, struct error *err)
{
	AUTO_CLOSE int fd = memfd_create("order", MFD_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "memfd_create");
	if (fileio_pwrite_all(fd, text, strlen(text), 0, err) < 0)
		return -1;
	return TAKE_FD(fd);
}

static int spawn(struct image_process *process, const char *const *argv,
		 const int io[2], int theirs, struct error *err)
{
	AUTO_FREE char *path = paths_helper(argv[0], err);
	struct child_fd fds[] = { { io[0], 0 },
				  { io[1] >= 0 ? io[1] : process->log_fd, 1 },
				  { process->log_fd, 2 },
				  { theirs, TALK_FD },
				  { process->memory_fd, MEMORY_FD } };
	struct child_spec spec = { .path = path,
				   .argv = argv,
				   .env = tool_env(),
				   .fds = fds,
				   .fd_count = ARRAY_SIZE(fds),
				   .flags = CHILD_DIE_WITH_US };

	if (!path)
		return -1;
	return child_spawn(&spec, &process->child, err) < 0
		       ? error_prefix(err, "%s", argv[0])
		       : 0;
}

int image_process_start(struct image_process *process, const char *const *argv,
			int input, struct error *err)
{
	return image_process_start_to(process, argv, input, -1, err);
}

int image_process_start_to(struct image_process *process,
			   const char *const *argv, int input, int output,
			   struct error *err)
{
	const int io[2] = { input, output };
	int ends[2] = { -1, -1 };
	int result;

	*process = (struct image_process){ .child = { .pidfd = -1 },
					   .talk_fd = -1,
					   .program = argv[0] };
	process->log_fd = memfd_create("image log", MFD_CLOEXEC);
	process->memory_fd = memfd_create("image", MFD_CLOEXEC);
	if (process->log_fd < 0 || process->memory_fd < 0 ||
	    packet_pair(ends, err) < 0) {
		close_fds(process);
		return error_set(err, errno, "memfd_create");
	}
	process->talk_fd = ends[0];
	result = spawn(process, argv, io, ends[1], err);
	close(ends[1]);
	if (result < 0)
		close_fds(process);
	return result;
}

/* ---- packets ---- */

static int answer(struct image_process *process, const char *op, int fd,
		  struct error *err)
{
	return packet_send(process->talk_fd, json_pack("{s:s}", "op", op), &fd,
			   fd >= 0, err);
}

static json_t *read_description(const struct image_process *process,
				struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(IMAGE_JSON_MAX);
	json_t *json;

	if (lseek(process->memory_fd, 0, SEEK_SET) < 0 ||
	    fileio_read_fd(process->memory_fd, &text, err) < 0)
		return NULL;
	json = text.len ? json_loadb((const char *)text.data, text.len,
				     JSON_REJECT_DUPLICATES, NULL)
			: NULL;
	if (!json)
		error_set(err, 0, "%s describes no image", process->program);
	return json;
}

static int on_image(struct image_process *process,
		    const struct image_handlers *handlers, struct error *err)
{
	AUTO(json) json_t *facts = read_description(process, err);
	AUTO_IMAGE struct image image = { 0 };
	int go;

	if (!facts || image_from_json(facts, &image, err) < 0)
		return -1;
	go = handlers->image(handlers->ctx, &image, facts, err);
	if (go < 0)
		return -1;
	return answer(process, go ? "go" : "enough", -1, err);
}

static int on_blob(struct image_process *process,
		   const struct image_handlers *handlers,
		   const struct packet *packet, struct error *err)
{
	struct image_descriptor blob;
	int fd;

	if (image_descriptor_from_json(packet->json, &blob, err) < 0)
		return -1;
	fd = handlers->blob(handlers->ctx, &blob, err);
	if (fd == IMAGE_BLOB_HAVE)
		return answer(process, "have", -1, err);
	return fd < 0 ? -1 : answer(process, "take", fd, err);
}

static int on_open(struct image_process *process,
		   const struct image_handlers *handlers,
		   const struct packet *packet, struct error *err)
{
	const char *name =
		json_string_value(json_object_get(packet->json, "name"));
	AUTO_CLOSE int fd = -1;
	struct error own = { 0 };

	if (!name || !handlers->open)
		return error_set(err, EPROTO, "%s asks for a file",
				 process->program);
	fd = handlers->open(handlers->open_ctx, name, &own);
	if (fd < 0 && own.code != ENOENT) {
		*err = own;
		return -1;
	}
	return answer(process, fd < 0 ? "none" : "take", fd, err);
}

static int on_done(const struct image_handlers *handlers,
		   const struct packet *packet, struct error *err)
{
	const char *digest =
		json_string_value(json_object_get(packet->json, "digest"));

	if (!digest || !digest_name_is_valid(digest))
		return error_set(err, EPROTO, "a digest is malformed");
	return handlers->done(handlers->ctx, digest, err);
}

static void on_progress(const struct image_handlers *handlers,
			const struct packet *packet)
{
	const json_t *parts = json_object_get(packet->json, "parts");

	for (size_t i = 0; i < json_array_size(parts); i++) {
		const json_t *part = json_array_get(parts, i);
		json_int_t number = json_integer_value(json_array_get(part, 0));
		json_int_t bytes = json_integer_value(json_array_get(part, 1));

		if (number >= 0 && bytes >= 0 && handlers->progress)
			handlers->progress(handlers->ctx, (size_t)number,
					   (uint64_t)bytes);
	}
}

static int dispatch(struct image_process *process,
		    const struct image_handlers *handlers,
		    const struct packet *packet, struct error *err)
{
	const char *op = packet_op(packet);
	const char *verdict =
		json_string_value(json_object_get(packet->json, "verdict"));

	if (strcmp(op, "image") == 0)
		return on_image(process, handlers, err);
	if (strcmp(op, "blob") == 0)
		return on_blob(process, handlers, packet, err);
	if (strcmp(op, "open") == 0)
		return on_open(process, handlers, packet, err);
	if (strcmp(op, "done") == 0)
		return on_done(handlers, packet, err);
	if (strcmp(op, "progress") == 0)
		on_progress(handlers, packet);
	else if (strcmp(op, "failed") == 0 && verdict)
		text_copy(process->verdict, sizeof(process->verdict), verdict);
	else
		return error_set(err, EPROTO, "%s says what is not understood",
				 process->program);
	return 0;
}

int image_process_step(struct image_process *process,
		       const struct image_handlers *handlers, int wait_ms,
		       struct error *err)
{
	struct pollfd wait = { .fd = process->talk_fd, .events = POLLIN };
	struct packet packet;
	struct error own = { 0 };
	int result;

	if (poll(&wait, 1, wait_ms) <= 0)
		return 0;
	result = packet_receive(process->talk_fd, &packet, &own);
	if (result < 0 && own.code == ECONNRESET) {
		process->ended = true;
		return 0;
	}
	if (result <= 0) {
		*err = own;
		return result;
	}
	result = dispatch(process, handlers, &packet, err);
	packet_release(&packet);
	return result;
}

int image_process_run(struct image_process *process,
		      const struct image_handlers *handlers, struct error *err)
{
	while (!process->ended)
		if (image_process_step(process, handlers, -1, err) < 0) {
			image_process_kill(process);
			return -1;
		}
	return image_process_finish(process, err);
}

/* "PROGRAM: PROGRAM: error: text": the text says all. */
static void shorten(struct error *err)
{
	char *text = strstr(err->text, ": error: ");

	if (text)
		memmove(err->text, text + strlen(": error: "),
			strlen(text + strlen(": error: ")) + 1);
}

int image_process_finish(struct image_process *process, struct error *err)
{
	int result = tool_wait(&process->child, process->program,
			       process->log_fd, NULL, NULL, err);

	if (result < 0)
		shorten(err);
	close_fds(process);
	return result;
}

void image_process_kill(struct image_process *process)
{
	int status;

	syscall(SYS_pidfd_send_signal, process->child.pidfd, SIGKILL, NULL, 0);
	(void)child_wait(&process->child, &status, NULL);
	close_fds(process);
}

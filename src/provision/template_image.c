/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_image.c - bawn-image at work on a template's tar stream
 */
#include "provision/template_build.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "provision/tool.h"
#include "state/paths.h"

#define RESULT_MAX 4096

AUTO_DEFINE(json, json_t *, json_decref)

static void close_fds(struct template_image *image)
{
	if (image->result_fd >= 0)
		close(image->result_fd);
	if (image->log_fd >= 0)
		close(image->log_fd);
	image->result_fd = image->log_fd = -1;
}

int template_image_start(struct template_image *image,
			 const struct template_build *build, int tar_fd,
			 int progress_fd, struct error *err)
{
	AUTO_FREE char *path = paths_helper("bawn-image", err);
	const char *argv[] = { "bawn-image", "ext4", "--size", "auto",
			       "--label",    "bawn", NULL };
	struct child_fd fds[5];
	struct child_spec spec = { .path = path,
				   .argv = argv,
				   .env = tool_env(),
				   .fds = fds,
				   .fd_count = progress_fd >= 0 ? 5 : 4,
				   .flags = CHILD_DIE_WITH_US };

	if (!path)
		return -1;
	image->result_fd = memfd_create("image result", MFD_CLOEXEC);
	image->log_fd = memfd_create("image log", MFD_CLOEXEC);
	if (image->result_fd < 0 || image->log_fd < 0) {
		close_fds(image);
		return error_set(err, errno, "memfd_create");
	}
	fds[0] = (struct child_fd){ tar_fd, 0 };
	fds[1] = (struct child_fd){ image->result_fd, 1 };
	fds[2] = (struct child_fd){ image->log_fd, 2 };
	fds[3] = (struct child_fd){ build->disk_fd, 4 };
	fds[4] = (struct child_fd){ progress_fd, 5 };
	if (child_spawn(&spec, &image->child, err) < 0) {
		close_fds(image);
		return error_prefix(err, "bawn-image");
	}
	return 0;
}

static int read_result(int fd, struct template_build *build, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RESULT_MAX);
	AUTO(json) json_t *root = NULL;
	const char *digest;

	if (lseek(fd, 0, SEEK_SET) < 0 || fileio_read_fd(fd, &text, err) < 0)
		return -1;
	root = json_loadb((const char *)text.data, text.len, 0, NULL);
	digest = json_string_value(json_object_get(root, "digest"));
	build->size_bytes =
		(uint64_t)json_integer_value(json_object_get(root, "size"));
	if (!digest || text_copy(build->id, sizeof(build->id), digest) < 0 ||
	    build->size_bytes == 0)
		return error_set(err, 0, "bawn-image gave no result");
	return 0;
}

int template_image_finish(struct template_image *image,
			  struct template_build *build, struct error *err)
{
	int result = tool_wait(&image->child, "bawn-image", image->log_fd, NULL,
			       NULL, err);

	if (result == 0)
		result = read_result(image->result_fd, build, err);
	close_fds(image);
	return result;
}

void template_image_kill(struct template_image *image)
{
	int status;

	syscall(SYS_pidfd_send_signal, image->child.pidfd, SIGKILL, NULL, 0);
	(void)child_wait(&image->child, &status, NULL);
	close_fds(image);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save.c - the disk of a sandbox as a template
 *
 * A machine of its own on a copy of the disk (disk_copy.h) writes the files as
 * an archive, without what is this one sandbox's (src/guest/saved_root.c), onto
 * a second disk that is a file here. The archive is foreign: it is loaded like
 * any other, and becomes the one layer of an image that is run as the sandbox's
 * own image is.
 */
#include "cli/save.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/disk_copy.h"
#include "cli/image_command.h"
#include "cli/progress_view.h"
#include "cli/save_mask.h"
#include "cli/spool_length.h"
#include "cli/stream.h"
#include "cli/template_file.h"
#include "oci/reference.h"
#include "provision/template_load.h"

#define PATHS_MAX (1u << 20)
/* Less is nothing left. */
#define SPACE_BYTES (1u << 20)
/* The user of our own templates; an image says who it is. */
#define DEFAULT_USER "agent"

static int check_tag(const char *tag, struct error *err)
{
	struct reference reference;

	if (reference_parse(tag, &reference, err) < 0)
		return -1;
	if (template_is_plain(tag) || template_is_id(tag) ||
	    template_is_confusing(&reference) || reference.digest[0])
		return error_set(err, 0,
				 "%s cannot be the name of a saved template "
				 "(NAME:TAG is one)",
				 tag);
	return 0;
}

/* Where folders of the host are, and nothing else is looked for. */
static int send_mount_points(struct stream *stream,
			     const struct sandbox *sandbox, struct error *err)
{
	AUTO_BUFFER struct buffer paths = BUFFER_INIT(PATHS_MAX);
	const struct share_list *shares = &sandbox->record.shares;

	for (size_t i = 0; i < shares->count; i++)
		if (buffer_append(&paths, shares->items[i].guest,
				  strlen(shares->items[i].guest) + 1) < 0)
			return error_set(err, E2BIG, "mount points");
	if (stream_write(stream, paths.data, paths.len, err) < 0)
		return -1;
	stream_end_input(stream);
	return 0;
}

static int wait_for_archive(struct stream *stream, struct spool_length *length,
			    struct error *err)
{
	const uint8_t *bytes;
	size_t len;
	int got;

	while ((got = stream_read(stream, &bytes, &len, err)) > 0) {
		if (spool_length_feed(length, bytes, len, err) < 0)
			return -1;
		progress_update(progress_view(), length->bytes, 0);
	}
	if (got < 0 || stream_finish(stream, err) < 0)
		return -1;
	return spool_length_finish(length, err);
}

/* To the machine a full disk of the host's is one that fails. */
static int explain(int spool, struct error *err)
{
	struct statvfs space;

	if (fstatvfs(spool, &space) == 0 &&
	    space.f_bavail * space.f_frsize < SPACE_BYTES)
		error_set(err, ENOSPC,
			  "writing its files to bawn's state folder");
	return -1;
}

/* Nobody holds the sandbox up while its files are read. */
static int read_files(struct store *store, const struct sandbox *sandbox,
		      int *spool, struct error *err)
{
	static const char *const args[] = { "save-out", NULL };
	const struct progress *progress = progress_view();
	AUTO_DISK_COPY struct disk_copy copy = DISK_COPY_INIT;
	AUTO_STREAM struct stream stream = STREAM_INIT;
	struct spool_length length = { 0 };

	progress_step(progress, "copying the disk");
	if (disk_copy_make(&copy, store, sandbox, err) < 0)
		return error_prefix(err, "copying the disk of %s",
				    sandbox->record.name);
	length.limit = copy.spool_bytes;
	progress_step(progress, "starting a machine that reads the copy");
	if (stream_open(&stream, &copy.sandbox, args, err) < 0)
		return -1;
	progress_step(progress, "reading its files");
	if (send_mount_points(&stream, sandbox, err) < 0)
		return -1;
	if (wait_for_archive(&stream, &length, err) < 0)
		return explain(copy.spool, err);
	if (ftruncate(copy.spool, (off_t)length.bytes) < 0)
		return error_set(err, errno, "its files");
	*spool = TAKE_FD(copy.spool);
	progress_done(progress);
	return 0;
}

static void say_loaded(void *ctx, const char *name, const char *id)
{
	text_copy(ctx, REFERENCE_TEXT_MAX, name);
}

static int load(const struct sandbox *sandbox, const char *tag, int spool,
		char name[REFERENCE_TEXT_MAX], struct error *err)
{
	AUTO_IMAGE_COMMAND struct image_command command = { .is_agent = false };
	AUTO_FREE char *label = xasprintf("sandbox %s", sandbox->record.name);
	struct template_load load = { .fd = spool,
				      .label = label,
				      .name = tag,
				      .alone = true,
				      .run = &command.run,
				      .place = TEMPLATE_USER,
				      .progress = progress_view(),
				      .loaded = say_loaded,
				      .ctx = name };
	bool image =
		faccessat(sandbox->folder, IMAGE_COMMAND_FILE, F_OK, 0) == 0;

	if (image_command_load(sandbox->folder, &command, err) < 0)
		return -1;
	if (!image) {
		free(command.run.user);
		command.run.user = xstrdup(DEFAULT_USER);
	}
	if (lseek(spool, 0, SEEK_SET) < 0)
		return error_set(err, errno, "the archive");
	return template_load(&load, err);
}

static int save(const struct save_wish *wish, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	char name[REFERENCE_TEXT_MAX] = "";
	AUTO_CLOSE int spool = -1;

	if (check_tag(wish->tag, err) < 0 ||
	    (wish->output && template_file_check(wish->output, err) < 0) ||
	    store_open(&store, err) < 0 ||
	    store_find(&store, wish->sandbox, &sandbox, err) < 0)
		return -1;
	/* masked when no machine can write there any more */
	if (read_files(&store, &sandbox, &spool, err) < 0 ||
	    save_mask_file(spool, &sandbox, err) < 0 ||
	    load(&sandbox, wish->tag, spool, name, err) < 0)
		return error_prefix(err, "saving %s", wish->sandbox);
	if (wish->output && template_file_write(name, wish->output, err) < 0)
		return -1;
	progress_view_clear();
	printf("%s\n", name);
	return 0;
}

int save_sandbox(const struct save_wish *wish, struct error *err)
{
	int result = save(wish, err);

	return result < 0 && stream_signal() ? 128 + stream_signal() : result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_settings_copy.c - the user's own settings of an agent, copied in
 *
 * No link is followed on the host, neither on the way nor within: what a link
 * names was not named by the user.
 */
#include "cli/agent_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/agent_seed.h"
#include "cli/agent_setup.h"
#include "cli/options.h"
#include "cli/store.h"
#include "cli/stream.h"
#include "state/agents.h"
#include "tar/tar_write.h"
#include "tree/tree_open.h"
#include "tree/tree_walk.h"

#define BYTES_MAX (64u << 20)
#define OWNER 1000

AUTO_DEFINE(json, json_t *, json_decref)

struct copy {
	struct stream stream;
	size_t bytes;
	char *notice; /* owned; NULL: it has another place */
};

static int put(void *ctx, const void *bytes, size_t len, struct error *err)
{
	struct copy *copy = ctx;

	copy->bytes += len;
	if (copy->bytes > BYTES_MAX)
		return error_set(err, EFBIG, "more than %u MB",
				 BYTES_MAX >> 20);
	return stream_write(&copy->stream, bytes, len, err);
}

static int finish(struct copy *copy, struct error *err)
{
	const uint8_t *bytes;
	size_t len;
	int got;

	stream_end_input(&copy->stream);
	while ((got = stream_read(&copy->stream, &bytes, &len, err)) > 0)
		;
	return got < 0 ? -1 : stream_finish(&copy->stream, err);
}

/* The folders that it lies in, so that they are the agent's as well. */
static int send_folders(struct copy *copy, const char *path, struct error *err)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(64 * TAR_BLOCK);
	char folder[TAR_PATH_MAX];

	for (size_t i = 1; path[i]; i++) {
		const struct tar_entry entry = { .path = folder,
						 .mode = S_IFDIR | 0700,
						 .uid = OWNER,
						 .gid = OWNER };

		if (path[i] != '/')
			continue;
		(void)text_format(folder, sizeof(folder), "%.*s", (int)i, path);
		if (tar_write_entry(&entry, &archive) < 0)
			return error_set(err, 0, "%s: too long", path);
	}
	return put(copy, archive.data, archive.len, err);
}

/* A whole file of the home, which may not be anything else. */
static int read_file(int home, const char *path, struct buffer *text,
		     struct error *err)
{
	AUTO_CLOSE int fd =
		tree_open(home, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return tree_error(err, errno, path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "%s: not a file", path);
	return fileio_read_fd(fd, text, err) < 0 ? error_prefix(err, "%s", path)
						 : 0;
}

static int send_text(struct copy *copy, const char *path,
		     const struct buffer *text, struct error *err)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(2 * AGENT_SEED_MAX);

	if (agent_seed_add(path, text, &archive, err) < 0 ||
	    agent_seed_close(&archive, err) < 0)
		return -1;
	return put(copy, archive.data, archive.len, err);
}

/* A file of JSON, without what may hold a credential. */
static int send_json(struct copy *copy, int home, const char *path,
		     struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(AGENT_SEED_MAX);
	AUTO_BUFFER struct buffer clean = BUFFER_INIT(AGENT_SEED_MAX);
	AUTO(json) json_t *json = NULL;
	AUTO_FREE char *dump = NULL;

	if (read_file(home, path, &text, err) < 0)
		return -1;
	json = json_loadb((const char *)text.data, text.len, 0, NULL);
	if (!json_is_object(json))
		return error_set(err, 0, "%s: not an object of JSON", path);
	agent_settings_filter(json);
	dump = json_dumps(json, JSON_INDENT(2));
	if (!dump || buffer_printf(&clean, "%s\n", dump) < 0)
		return error_set(err, 0, "%s: too long", path);
	return send_text(copy, path, &clean, err);
}

/* The user's words, and then what bawn has to say. */
static int send_with_notice(struct copy *copy, int home, const char *path,
			    struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(AGENT_SEED_MAX);

	if (read_file(home, path, &text, err) < 0)
		return -1;
	if (buffer_printf(&text, "\n%s", copy->notice) < 0)
		return error_set(err, 0, "%s: too long", path);
	return send_text(copy, path, &text, err);
}

static int send_tree(struct copy *copy, int home, const char *path,
		     struct error *err)
{
	const struct tree_walk_setup setup = { .put = put, .ctx = copy };
	const char *name;
	AUTO_CLOSE int parent = tree_open_parent(home, path, 0, &name, err);
	struct stat st;

	if (parent < 0)
		return -1;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return tree_error(err, errno, path);
	if (S_ISLNK(st.st_mode))
		return error_set(err, 0,
				 "%s is a link, and what it leads to was not "
				 "named (-v shares it)",
				 path);
	return tree_walk(parent, name, path, &setup, err);
}

static int send_one(struct copy *copy, int home,
		    const struct agent_setting *setting, struct error *err)
{
	if (send_folders(copy, setting->path, err) < 0)
		return -1;
	if (agent_settings_is_json(setting))
		return send_json(copy, home, setting->path, err);
	if (copy->notice)
		return send_with_notice(copy, home, setting->path, err);
	return send_tree(copy, home, setting->path, err);
}

static int copy_one(struct sandbox *sandbox, const json_t *keys, int home,
		    const struct agent_setting *setting, struct error *err)
{
	static const char *const args[] = { "tar-in", AGENT_SETTINGS_HOME,
					    NULL };
	struct copy copy = { .stream = STREAM_INIT };
	int result = stream_open(&copy.stream, sandbox, args, err);

	copy.notice = agent_setup_notice(sandbox, keys, setting->path, NULL);
	if (result == 0)
		result = send_one(&copy, home, setting, err);
	if (result == 0)
		result = finish(&copy, err);
	stream_close(&copy.stream);
	free(copy.notice);
	return result < 0 ? error_prefix(err, "--settings %s", setting->name)
			  : 0;
}

int agent_settings_copy(struct sandbox *sandbox, const json_t *keys,
			const struct options *options, struct error *err)
{
	const char *place = getenv("HOME"), *words;
	AUTO(json) json_t *agents = agents_load(err);
	const json_t *agent = agents_find(agents, sandbox->record.agent);
	AUTO_CLOSE int home = -1;
	int got = 0, any = 0;
	size_t at = 0;

	if (!agents)
		return -1;
	while (got >= 0 && (words = options_next(options, "settings", &at))) {
		struct agent_setting setting;

		while ((got = agent_settings_next(agent, &words, &setting,
						  err)) > 0) {
			if (setting.read_only)
				continue;
			if (home < 0 && place)
				home = open(place,
					    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (home < 0)
				return error_set(err, errno, "HOME");
			if (copy_one(sandbox, keys, home, &setting, err) < 0)
				return -1;
			any = 1;
		}
	}
	return got < 0 ? -1 : any;
}

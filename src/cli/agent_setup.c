/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_setup.c - a sandbox is made ready for its agent
 *
 * Files that are not there yet are made in one go. Those that are there come
 * back, are merged here, and go in again: the guest's bytes are parsed by the
 * CLI, bounded, and nothing else happens to them. A note on the host says
 * what was put in last, so that this costs nothing the next time.
 */
#include "cli/agent_setup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/agent_seed.h"
#include "cli/progress_view.h"
#include "cli/relay.h"
#include "cli/session.h"
#include "cli/store.h"
#include "cli/stream.h"
#include "cli/variables.h"
#include "provision/template_check.h"
#include "state/agents.h"
#include "state/digest.h"
#include "state/paths.h"
#include "state/services.h"
#include "tar/tar_read.h"

#define NOTE_FILE "seeds"
#define NOTICE_FILE "notice.md"
#define NOTICE_MAX (16u << 10)
#define ARCHIVE_MAX ((size_t)AGENT_SEED_FILES_MAX * 2 * AGENT_SEED_MAX)

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(variables, char **, variables_free)

/* ---- what comes back ---- */

struct answer {
	const json_t *files;
	struct buffer *again; /* an archive of what has to be replaced */
	bool any;
	char path[TAR_PATH_MAX];
	struct buffer content;
};

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	struct answer *answer = ctx;

	if (!S_ISREG(entry->mode) ||
	    !json_object_get(answer->files, entry->path))
		return error_set(err, 0, "the guest tells of a strange file");
	memcpy(answer->path, entry->path, strlen(entry->path) + 1);
	return 0;
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	struct answer *answer = ctx;

	return buffer_append(&answer->content, bytes, len) < 0
		       ? error_set(err, 0, "a file of the guest is too long")
		       : 0;
}

static int on_end(void *ctx, struct error *err)
{
	struct answer *answer = ctx;
	AUTO_BUFFER struct buffer merged = BUFFER_INIT(AGENT_SEED_MAX);
	int changed = agent_seed_update(
		answer->content.data, answer->content.len,
		json_object_get(answer->files, answer->path), &merged);

	buffer_consume(&answer->content, answer->content.len);
	if (!changed)
		return 0;
	answer->any = true;
	return agent_seed_add(answer->path, &merged, answer->again, err);
}

static int receive(struct stream *stream, struct tar_reader *reader,
		   struct error *err)
{
	const uint8_t *bytes;
	size_t len;
	int got;

	while ((got = stream_read(stream, &bytes, &len, err)) > 0)
		if (tar_reader_feed(reader, bytes, len, err) < 0)
			return -1;
	if (got < 0 || stream_finish(stream, err) < 0)
		return -1;
	return tar_reader_finish(reader, err);
}

/* ---- what goes in ---- */

static int send(struct sandbox *sandbox, const char *mode,
		const struct buffer *archive, struct answer *answer,
		struct error *err)
{
	const char *args[] = { "seed", mode, NULL };
	const struct tar_limits limits = { .entries = AGENT_SEED_FILES_MAX,
					   .bytes = ARCHIVE_MAX };
	const struct tar_events events = {
		.entry = on_entry, .data = on_data, .end = on_end, .ctx = answer
	};
	AUTO_STREAM struct stream stream = STREAM_INIT;
	struct tar_reader *reader;
	int result;

	if (stream_open(&stream, sandbox, args, err) < 0)
		return -1;
	if (stream_write(&stream, archive->data, archive->len, err) < 0)
		return -1;
	stream_end_input(&stream);
	reader = tar_reader_new(&limits, &events);
	result = receive(&stream, reader, err);
	tar_reader_free(reader);
	return result;
}

static int put_files(struct sandbox *sandbox, const json_t *files,
		     struct error *err)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(ARCHIVE_MAX);
	AUTO_BUFFER struct buffer again = BUFFER_INIT(ARCHIVE_MAX);
	AUTO_BUFFER struct buffer unused = BUFFER_INIT(ARCHIVE_MAX);
	struct answer answer = { .files = files, .again = &again };
	int result;

	if (agent_seed_pack(files, &archive, err) < 0)
		return -1;
	buffer_init(&answer.content, AGENT_SEED_MAX);
	result = send(sandbox, "new", &archive, &answer, err);
	if (result == 0 && answer.any && agent_seed_close(&again, err) < 0)
		result = -1;
	if (result == 0 && answer.any) {
		/* nothing comes back that would have to be merged again */
		answer.again = &unused;
		result = send(sandbox, "replace", &again, &answer, err);
	}
	buffer_release(&answer.content);
	return result;
}

/* ---- whether it is needed ---- */

static char *load_notice(struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(NOTICE_MAX);
	AUTO_FREE char *path = paths_data_file(NOTICE_FILE, err);

	if (!path || fileio_read(AT_FDCWD, path, &text, err) < 0)
		return NULL;
	return xstrdup(buffer_str(&text) ? buffer_str(&text) : "");
}

static json_t *make_files(const struct sandbox *sandbox, const json_t *keys,
			  struct error *err)
{
	const struct share_list *shares = &sandbox->record.shares;
	AUTO(json) json_t *agents = agents_load(err);
	const json_t *agent = agents_find(agents, sandbox->record.agent);
	AUTO_FREE char *notice = NULL;
	AUTO(variables) char **env = NULL;
	struct agent_seed_facts facts = {
		.cwd = shares->count ? shares->items[0].guest : "/",
		.name = sandbox->record.name,
	};

	if (!agents)
		return NULL;
	if (!agent || (!json_object_get(agent, "seeds") &&
		       !json_object_get(agent, "notice")))
		return json_object();
	notice = load_notice(err);
	env = notice ? variables_of_session(sandbox, false, keys, NULL, err)
		     : NULL;
	facts.env = env;
	return env ? agent_seed_files(agent, notice, &facts) : NULL;
}

char *agent_setup_notice(const struct sandbox *sandbox, const json_t *keys,
			 const char *path, struct error *err)
{
	AUTO(json) json_t *files = make_files(sandbox, keys, err);
	const char *text = json_string_value(json_object_get(files, path));

	return text ? xstrdup(text) : NULL;
}

static bool was_put(const struct sandbox *sandbox, const char *hex)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(256);

	return fileio_read(sandbox->folder, NOTE_FILE, &text, NULL) == 0 &&
	       buffer_str(&text) && strcmp(buffer_str(&text), hex) == 0;
}

/* 1, the files and what is noted of them; 0: there is nothing to do. */
static int find_due(const struct sandbox *sandbox, const json_t *keys,
		    json_t **files, char hex[DIGEST_HEX], struct error *err)
{
	AUTO_FREE char *text = NULL;

	*files = make_files(sandbox, keys, err);
	if (!*files)
		return -1;
	text = json_dumps(*files, JSON_COMPACT | JSON_SORT_KEYS);
	digest_bytes(text, strlen(text), hex);
	return json_object_size(*files) && !was_put(sandbox, hex);
}

int agent_setup_is_due(const struct sandbox *sandbox, const json_t *keys,
		       struct error *err)
{
	AUTO(json) json_t *files = NULL;
	char hex[DIGEST_HEX];

	return find_due(sandbox, keys, &files, hex, err);
}

void agent_setup_again(const struct sandbox *sandbox)
{
	unlinkat(sandbox->folder, NOTE_FILE, 0);
}

int agent_setup(struct sandbox *sandbox, const json_t *keys, struct error *err)
{
	AUTO(json) json_t *files = NULL;
	char hex[DIGEST_HEX];
	int due = find_due(sandbox, keys, &files, hex, err);

	if (due <= 0)
		return due;
	if (put_files(sandbox, files, err) < 0)
		return error_prefix(err, "the files of %s",
				    sandbox->record.agent);
	return fileio_replace(sandbox->folder, NOTE_FILE, hex, strlen(hex),
			      0600, 0, err);
}

/* ---- a new template ---- */

struct last_line {
	char text[200];
	size_t len;
	bool ended;
};

/* Keeps the last line, and shows nothing. */
static long take_line(void *ctx, bool is_error, uint8_t *bytes, size_t len,
		      struct error *err)
{
	struct last_line *line = ctx;

	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n') {
			line->ended = true;
			continue;
		}
		if (line->ended)
			line->len = 0;
		line->ended = false;
		if (line->len < sizeof(line->text))
			line->text[line->len++] = (char)bytes[i];
	}
	return 0;
}

bool agent_setup_is_untried(const struct sandbox *sandbox)
{
	AUTO_FREE char *command =
		template_check_due(sandbox->record.template_name);

	return command != NULL;
}

int agent_setup_try(struct sandbox *sandbox, struct error *err)
{
	const char *name = sandbox->record.template_name;
	AUTO_FREE char *command = template_check_due(name);
	const char *argv[] = { "sh", "-c", command, NULL };
	struct last_line line = { .len = 0 };
	struct relay_filter filter = { .take = take_line, .ctx = &line };
	struct session_wish wish = { .folder = "/", .filter = &filter };
	AUTO_START struct start start = START_INIT;
	char shown[300];
	int code;

	if (!command)
		return 0;
	progress_step(progress_view(), "trying the new template");
	if (start_sandbox(sandbox, NULL, START_WAIT, &start, err) < 0)
		return -1;
	code = session_exec(sandbox, &start, argv, &wish, err);
	progress_done(progress_view());
	if (code < 0)
		return -1;
	if (code == 0) {
		template_check_done(name);
		return 0;
	}
	text_printable(line.text, line.len, shown, sizeof(shown));
	return error_set(err, 0,
			 "template %s: `%s` does not work in it: %s (`bawn "
			 "template rm %s` removes it)",
			 name, command, line.len ? shown : "no word", name);
}

/* ---- keys ---- */

static bool is_set(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return true;
	return false;
}

void agent_setup_say_key(const struct sandbox *sandbox, const json_t *keys)
{
	AUTO(json) json_t *agents = agents_load(NULL);
	AUTO(json) json_t *services = services_load(NULL);
	const json_t *agent = agents_find(agents, sandbox->record.agent);
	const json_t *names = json_object_get(agent, "variables");
	AUTO(variables) char **env = NULL;
	const json_t *service;
	const char *first;
	json_t *name;
	size_t i;

	if (!json_array_size(names))
		return;
	env = variables_of_session(sandbox, false, keys, NULL, NULL);
	json_array_foreach(names, i, name)
	{
		if (!env || is_set(env, json_string_value(name)))
			return;
	}
	first = json_string_value(json_array_get(names, 0));
	service = services_of_variable(services, first);
	if (!service)
		return;
	progress_view_clear();
	fprintf(stderr,
		"bawn: %s has no key here: `bawn secret set %s` keeps one for "
		"it, or set %s before you run it\n",
		sandbox->record.agent,
		json_string_value(json_object_get(service, "name")), first);
}

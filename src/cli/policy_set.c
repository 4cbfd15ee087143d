/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_set.c - the rules that hold for a sandbox
 */
#include "cli/policy_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"
#include "policy/policy_file.h"
#include "state/paths.h"

#define PRESETS_FOLDER "policy"
#define PRESETS_MAX 64
/* Beside the presets: domains that many people share, for policy_learn(). */
#define SHARED_FILE "shared"
#define AGENTS_FOLDER PRESETS_FOLDER "/agents"
/* The one that has nothing implicit, not even the agent's own hosts. */
#define STRICT_PRESET "deny-all"

AUTO_DEFINE(presets, char **, policy_set_presets_free)

static void add_item(struct policy_set *set, enum policy_scope scope,
		     const char *name, const void *text, size_t len)
{
	set->items[set->count++] = (struct policy_set_item){
		.scope = scope,
		.name = xstrdup(name),
		.text = xstrndup(text ? text : "", len),
		.len = len,
	};
}

/* A file that is missing is an empty one. */
static int add_file(struct policy_set *set, enum policy_scope scope, int folder,
		    const char *name, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(POLICY_SET_TEXT_MAX);
	struct error failure = { 0 };

	if (fileio_read(folder, POLICY_SET_FILE, &text, &failure) < 0 &&
	    failure.code != ENOENT)
		return error_set(err, failure.code, "%s", name);
	if (text.len && memchr(text.data, '\0', text.len))
		return error_set(err, 0, "%s: holds a NUL byte", name);
	add_item(set, scope, name, text.data, text.len);
	return 0;
}

/* The preset that a text names last; *name stays where there is none. */
static int find_preset(const struct policy_set_item *item, char **name,
		       struct error *err)
{
	struct policy_file file = policy_file_of(item->text, item->len);
	struct policy_line line;
	int got;

	while ((got = policy_file_next(&file, &line, err)) > 0) {
		if (line.kind != POLICY_LINE_PRESET)
			continue;
		free(*name);
		*name = xstrndup(line.preset, line.preset_len);
	}
	if (got < 0)
		return error_prefix(err, "%s:%u", item->name, line.number);
	return 0;
}

/* A file that comes with bawn. */
static int add_data_file(struct policy_set *set, enum policy_scope scope,
			 const char *folder, const char *name,
			 struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(POLICY_SET_TEXT_MAX);
	AUTO_FREE char *sub = xasprintf("%s/%s", folder, name);
	AUTO_FREE char *path = paths_data_file(sub, err);

	if (!path)
		return -1;
	if (fileio_read(AT_FDCWD, path, &text, err) < 0)
		return error_prefix(err, "%s", path);
	add_item(set, scope, path, text.data, text.len);
	return 0;
}

static int add_preset(struct policy_set *set, struct error *err)
{
	struct error none = { 0 };

	set->preset = xstrdup(POLICY_SET_DEFAULT);
	/* the sandbox's own is read last, and wins */
	for (size_t i = 0; i < set->count; i++)
		if (find_preset(&set->items[i], &set->preset, err) < 0)
			return -1;
	if (policy_set_check_preset(set->preset, err) < 0 ||
	    add_data_file(set, POLICY_PRESET, PRESETS_FOLDER, set->preset,
			  err) < 0)
		return -1;
	/* not every agent has hosts that it cannot do without */
	if (set->agent && strcmp(set->preset, STRICT_PRESET) &&
	    add_data_file(set, POLICY_AGENT, AGENTS_FOLDER, set->agent, &none) <
		    0 &&
	    none.code != ENOENT) {
		*err = none;
		return -1;
	}
	return 0;
}

/* The preset comes first, whichever order they were read in. */
static void sort_items(struct policy_set *set)
{
	for (size_t i = 1; i < set->count; i++)
		for (size_t j = i;
		     j > 0 && set->items[j].scope < set->items[j - 1].scope;
		     j--) {
			struct policy_set_item item = set->items[j];

			set->items[j] = set->items[j - 1];
			set->items[j - 1] = item;
		}
}

int policy_set_load(const struct sandbox *sandbox, struct policy_set *set,
		    struct error *err)
{
	AUTO_CLOSE int config = -1;
	AUTO_FREE char *global = NULL;
	AUTO_FREE char *own = NULL;

	memset(set, 0, sizeof(*set));
	config = paths_open(PATHS_CONFIG, NULL, err);
	global = paths_of(PATHS_CONFIG, POLICY_SET_FILE, err);
	if (config < 0 || !global ||
	    add_file(set, POLICY_GLOBAL, config, global, err) < 0)
		return -1;
	if (sandbox) {
		AUTO_FREE char *sub = xasprintf("sandboxes/%s/" POLICY_SET_FILE,
						sandbox->record.name);

		set->agent = sandbox->record.agent;
		own = paths_of(PATHS_STATE, sub, err);
		if (!own || add_file(set, POLICY_SANDBOX, sandbox->folder, own,
				     err) < 0)
			return -1;
	}
	if (add_preset(set, err) < 0)
		return -1;
	sort_items(set);
	return 0;
}

/* Without the preset, which may be another one now, and what comes with it. */
static void drop_preset(struct policy_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct policy_set_item *item = &set->items[i];

		if (item->scope != POLICY_PRESET &&
		    item->scope != POLICY_AGENT) {
			set->items[n++] = *item;
			continue;
		}
		free(item->name);
		free(item->text);
	}
	set->count = n;
	free(TAKE_PTR(set->preset));
}

int policy_set_replace(struct policy_set *set, enum policy_scope scope,
		       const char *text, size_t len, struct error *err)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i].scope != scope)
			continue;
		free(set->items[i].text);
		set->items[i].text = xstrndup(text, len);
		set->items[i].len = len;
	}
	drop_preset(set);
	if (add_preset(set, err) < 0)
		return -1;
	sort_items(set);
	return 0;
}

void policy_set_release(struct policy_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->items[i].name);
		free(set->items[i].text);
	}
	free(set->preset);
	memset(set, 0, sizeof(*set));
}

json_t *policy_set_json(const struct policy_set *set, struct error *err)
{
	struct policy *policy = policy_set_compile(set, err);
	json_t *list = policy ? json_array() : NULL;

	policy_free(policy);
	if (!list)
		return NULL;
	for (size_t i = 0; i < set->count; i++) {
		const struct policy_set_item *item = &set->items[i];
		json_t *one =
			json_pack("{s:s, s:s, s:s%}", "scope",
				  policy_scope_name(item->scope), "name",
				  item->name, "text", item->text, item->len);

		if (one && json_array_append_new(list, one) == 0)
			continue;
		json_decref(list);
		error_set(err, 0, "%s: it or its name is not UTF-8",
			  item->name);
		return NULL;
	}
	return list;
}

struct policy *policy_set_compile(const struct policy_set *set,
				  struct error *err)
{
	struct policy_source sources[POLICY_SCOPES];

	for (size_t i = 0; i < set->count; i++)
		sources[i] = (struct policy_source){
			.scope = set->items[i].scope,
			.name = set->items[i].name,
			.text = set->items[i].text,
			.len = set->items[i].len,
		};
	return policy_compile(sources, set->count, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **policy_set_presets(void)
{
	char **names = xcalloc(PRESETS_MAX + 1, sizeof(char *));
	AUTO_FREE char *path = paths_data_file(PRESETS_FOLDER, NULL);
	DIR *folder = path ? opendir(path) : NULL;
	const struct dirent *entry;
	size_t n = 0;

	while (folder && n < PRESETS_MAX && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && entry->d_type != DT_DIR &&
		    strcmp(entry->d_name, SHARED_FILE))
			names[n++] = xstrdup(entry->d_name);
	if (folder)
		closedir(folder);
	qsort(names, n, sizeof(char *), by_name);
	return names;
}

void policy_set_presets_free(char **names)
{
	for (char **name = names; *name; name++)
		free(*name);
	free(names);
}

int policy_set_check_preset(const char *name, struct error *err)
{
	AUTO(presets) char **names = policy_set_presets();
	AUTO_BUFFER struct buffer list = BUFFER_INIT(1024);
	char shown[80];

	for (char **one = names; *one; one++) {
		if (!strcmp(*one, name))
			return 0;
		buffer_printf(&list, "%s%s", list.len ? ", " : "", *one);
	}
	text_printable(name, strlen(name), shown, sizeof(shown));
	return error_set(err, 0, "there is no preset %s (there is: %s)", shown,
			 list.len ? buffer_str(&list) : "none");
}

static char *read_data(const char *sub)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(POLICY_SET_TEXT_MAX);
	AUTO_FREE char *path = paths_data_file(sub, NULL);

	if (!path || fileio_read(AT_FDCWD, path, &text, NULL) < 0)
		return NULL;
	return xstrndup(text.len ? (const char *)text.data : "", text.len);
}

char *policy_set_agent(const char *agent)
{
	AUTO_FREE char *sub = xasprintf(AGENTS_FOLDER "/%s", agent);

	return read_data(sub);
}

char *policy_set_shared(void)
{
	char *text = read_data(PRESETS_FOLDER "/" SHARED_FILE);

	return text ? text : xstrdup("");
}

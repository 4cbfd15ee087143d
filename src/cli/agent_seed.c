/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_seed.c - what the files of an agent's home begin with
 */
#include "cli/agent_seed.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "tar/tar_write.h"

#define TAIL_LEN 20
#define FILLED_MAX ((size_t)64 * 1024)
#define DEPTH_MAX 32
#define JSON_FORM (JSON_INDENT(2) | JSON_ENCODE_ANY)

AUTO_DEFINE(json, json_t *, json_decref)

/* ---- filling in ---- */

static const char *variable(const struct agent_seed_facts *facts,
			    const char *name, size_t len)
{
	for (char *const *one = facts->env; one && *one; one++)
		if (strncmp(*one, name, len) == 0 && (*one)[len] == '=' &&
		    (*one)[len + 1])
			return *one + len + 1;
	return NULL;
}

/* The value of what stands between "${" and "}"; NULL: there is none. */
static const char *value_of(const struct agent_seed_facts *facts,
			    const char *word, size_t len)
{
	const char *value;
	size_t value_len;

	if (len == 3 && strncmp(word, "cwd", 3) == 0)
		return facts->cwd;
	if (len == 4 && strncmp(word, "name", 4) == 0)
		return facts->name;
	if (text_starts(word, "key:") && len > 4)
		return variable(facts, word + 4, len - 4);
	if (!text_starts(word, "tail:") || len <= 5)
		return NULL;
	value = variable(facts, word + 5, len - 5);
	value_len = value ? strlen(value) : 0;
	return value_len > TAIL_LEN ? value + value_len - TAIL_LEN : value;
}

/* malloc'd; NULL: something in it has no value. */
static char *fill_text(const char *text, const struct agent_seed_facts *facts)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(FILLED_MAX);
	const char *open, *end, *value;

	while ((open = strstr(text, "${")) && (end = strchr(open, '}'))) {
		value = value_of(facts, open + 2, (size_t)(end - open - 2));
		if (!value ||
		    buffer_append(&out, text, (size_t)(open - text)) < 0 ||
		    buffer_append(&out, value, strlen(value)) < 0)
			return NULL;
		text = end + 1;
	}
	if (buffer_append(&out, text, strlen(text)) < 0 || !buffer_str(&out))
		return NULL;
	return xstrdup(buffer_str(&out));
}

static json_t *fill(const json_t *value, const struct agent_seed_facts *facts,
		    unsigned depth);

static json_t *fill_object(const json_t *value,
			   const struct agent_seed_facts *facts, unsigned depth)
{
	json_t *out = json_object(), *item;
	const char *key;

	json_object_foreach((json_t *)value, key, item)
	{
		AUTO_FREE char *name = fill_text(key, facts);
		json_t *filled = name ? fill(item, facts, depth + 1) : NULL;

		if (filled)
			json_object_set_new(out, name, filled);
	}
	return out;
}

/* A copy; NULL: it has no value. */
static json_t *fill(const json_t *value, const struct agent_seed_facts *facts,
		    unsigned depth)
{
	json_t *out, *item;
	size_t i;

	if (depth > DEPTH_MAX)
		return NULL;
	if (json_is_string(value)) {
		AUTO_FREE char *text =
			fill_text(json_string_value(value), facts);

		return text ? json_string(text) : NULL;
	}
	if (json_is_object(value))
		return fill_object(value, facts, depth);
	if (!json_is_array(value))
		return json_deep_copy(value);
	out = json_array();
	json_array_foreach(value, i, item)
	{
		json_t *filled = fill(item, facts, depth + 1);

		if (filled)
			json_array_append_new(out, filled);
	}
	return out;
}

json_t *agent_seed_files(const json_t *agent, const char *notice,
			 const struct agent_seed_facts *facts)
{
	json_t *files = json_object(), *seed;
	const char *notice_path =
		json_string_value(json_object_get(agent, "notice"));
	size_t i;

	json_array_foreach(json_object_get(agent, "seeds"), i, seed)
	{
		const json_t *content = json_object_get(seed, "json");
		json_t *filled;

		if (!content)
			content = json_object_get(seed, "text");
		filled = fill(content, facts, 0);
		/* nothing is left of it without its variables */
		if (filled &&
		    !(json_is_object(filled) && !json_object_size(filled)))
			json_object_set(files,
					json_string_value(
						json_object_get(seed, "path")),
					filled);
		json_decref(filled);
	}
	if (notice_path && notice) {
		AUTO_FREE char *text = fill_text(notice, facts);

		if (text)
			json_object_set_new(files, notice_path,
					    json_string(text));
	}
	return files;
}

/* ---- merging ---- */

static bool has_item(const json_t *list, const json_t *item)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (json_equal(one, item))
			return true;
	}
	return false;
}

static bool merge(json_t *mine, const json_t *seed, unsigned depth)
{
	bool changed = false;
	const char *key;
	json_t *value, *item;
	size_t i;

	json_object_foreach((json_t *)seed, key, value)
	{
		json_t *old = json_object_get(mine, key);

		if (!old) {
			json_object_set_new(mine, key, json_deep_copy(value));
			changed = true;
		} else if (json_is_object(old) && json_is_object(value) &&
			   depth < DEPTH_MAX) {
			changed |= merge(old, value, depth + 1);
		} else if (json_is_array(old) && json_is_array(value)) {
			json_array_foreach(value, i, item)
			{
				if (has_item(old, item))
					continue;
				json_array_append_new(old,
						      json_deep_copy(item));
				changed = true;
			}
		}
	}
	return changed;
}

bool agent_seed_merge(json_t *mine, const json_t *seed)
{
	return merge(mine, seed, 0);
}

int agent_seed_update(const void *bytes, size_t len, const json_t *seed,
		      struct buffer *out)
{
	AUTO(json) json_t *mine = NULL;
	AUTO_FREE char *text = NULL;

	/* only JSON can be merged; a text that is there is the user's */
	if (!json_is_object(seed) || !len || len > AGENT_SEED_MAX)
		return 0;
	mine = json_loadb(bytes, len, 0, NULL);
	if (!json_is_object(mine) || !agent_seed_merge(mine, seed))
		return 0;
	text = json_dumps(mine, JSON_FORM);
	return text && strlen(text) <= AGENT_SEED_MAX &&
	       buffer_append(out, text, strlen(text)) == 0;
}

/* ---- archives ---- */

int agent_seed_add(const char *path, const struct buffer *content,
		   struct buffer *out, struct error *err)
{
	struct tar_entry entry = { .path = path,
				   .mode = S_IFREG | 0600,
				   .size = content->len };
	static const char zeroes[TAR_BLOCK];

	if (tar_write_entry(&entry, out) < 0 ||
	    buffer_append(out, content->data, content->len) < 0 ||
	    buffer_append(out, zeroes, tar_padding(content->len)) < 0)
		return error_set(err, EFBIG, "%s", path);
	return 0;
}

int agent_seed_close(struct buffer *out, struct error *err)
{
	return tar_write_end(out) < 0 ? error_set(err, EFBIG, "archive") : 0;
}

int agent_seed_pack(const json_t *files, struct buffer *out, struct error *err)
{
	const char *path;
	json_t *value;

	json_object_foreach((json_t *)files, path, value)
	{
		AUTO_BUFFER struct buffer content = BUFFER_INIT(AGENT_SEED_MAX);
		AUTO_FREE char *text =
			json_is_string(value)
				? xstrdup(json_string_value(value))
				: json_dumps(value, JSON_FORM);

		if (!text || buffer_append(&content, text, strlen(text)) < 0)
			return error_set(err, EFBIG, "%s", path);
		if (agent_seed_add(path, &content, out, err) < 0)
			return -1;
	}
	return agent_seed_close(out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oci_spec.c - where in a container's settings something can be added
 */
#include "guest/oci_spec.h"

#include <string.h>

#include "guest/slice.h"

#define DEPTH_MAX 64

struct walk {
	const char *start, *pos, *end;
	unsigned depth;
	const char *const *names;
	struct oci_spec *out;
};

/* Reads the value of this key. False: that is no JSON, or not as expected. */
typedef bool member_fn(struct walk *walk, struct slice key);

static char next(struct walk *walk)
{
	while (walk->pos < walk->end &&
	       (*walk->pos == ' ' || *walk->pos == '\n' || *walk->pos == '\t' ||
		*walk->pos == '\r'))
		walk->pos++;
	return walk->pos < walk->end ? *walk->pos : '\0';
}

static bool take(struct walk *walk, char wanted)
{
	if (next(walk) != wanted || walk->pos == walk->end)
		return false;
	walk->pos++;
	return true;
}

/* As it stands there, without the quotes. */
static bool read_string(struct walk *walk, struct slice *out)
{
	if (!take(walk, '"'))
		return false;
	out->start = walk->pos;
	while (walk->pos < walk->end && *walk->pos != '"') {
		if ((unsigned char)*walk->pos < ' ' ||
		    (*walk->pos == '\\' && ++walk->pos == walk->end))
			return false;
		walk->pos++;
	}
	if (walk->pos >= walk->end)
		return false;
	out->len = (size_t)(walk->pos - out->start);
	walk->pos++;
	return true;
}

/* A number, true, false, null: only where it ends concerns us. */
static bool skip_word(struct walk *walk)
{
	const char *from = walk->pos;

	while (walk->pos < walk->end &&
	       ((*walk->pos >= '0' && *walk->pos <= '9') ||
		(*walk->pos >= 'a' && *walk->pos <= 'z') || *walk->pos == 'E' ||
		*walk->pos == '+' || *walk->pos == '-' || *walk->pos == '.'))
		walk->pos++;
	return walk->pos > from;
}

static bool read_object(struct walk *walk, member_fn *fn);
static bool skip_array(struct walk *walk);
static bool skip_member(struct walk *walk, struct slice key);

static bool skip_value(struct walk *walk)
{
	struct slice text;

	switch (next(walk)) {
	case '"':
		return read_string(walk, &text);
	case '{':
		return read_object(walk, skip_member);
	case '[':
		return skip_array(walk);
	default:
		return skip_word(walk);
	}
}

static bool skip_member(struct walk *walk, struct slice key)
{
	return skip_value(walk);
}

static bool read_object(struct walk *walk, member_fn *fn)
{
	struct slice key;

	if (++walk->depth > DEPTH_MAX || !take(walk, '{'))
		return false;
	if (next(walk) != '}') {
		do {
			if (!read_string(walk, &key) || !take(walk, ':') ||
			    !fn(walk, key))
				return false;
		} while (take(walk, ','));
	}
	walk->depth--;
	return take(walk, '}');
}

static bool read_array(struct walk *walk, bool (*fn)(struct walk *walk),
		       struct oci_spec_list *out)
{
	bool empty;

	if (++walk->depth > DEPTH_MAX || !take(walk, '['))
		return false;
	empty = next(walk) == ']';
	if (!empty) {
		do {
			if (!fn(walk))
				return false;
		} while (take(walk, ','));
	}
	walk->depth--;
	if (!take(walk, ']'))
		return false;
	if (!out)
		return true;
	/* Which of two would count is for another reader to say. */
	if (out->end)
		return false;
	out->end = (size_t)(walk->pos - 1 - walk->start);
	out->empty = empty;
	return true;
}

static bool skip_array(struct walk *walk)
{
	return read_array(walk, skip_value, NULL);
}

static bool read_variable(struct walk *walk)
{
	struct slice text;

	if (!read_string(walk, &text))
		return false;
	for (unsigned i = 0; walk->names[i] && i < OCI_SPEC_NAMES_MAX; i++) {
		size_t len = strlen(walk->names[i]);

		if (text.len > len && text.start[len] == '=' &&
		    memcmp(text.start, walk->names[i], len) == 0)
			walk->out->is_set |= 1u << i;
	}
	return true;
}

/* A list that is null, as Go writes an empty one, is left alone. */
static bool read_list(struct walk *walk, bool (*fn)(struct walk *walk),
		      struct oci_spec_list *out)
{
	return next(walk) == '[' ? read_array(walk, fn, out) : skip_word(walk);
}

static bool process_member(struct walk *walk, struct slice key)
{
	if (slice_equals(key, "env"))
		return read_list(walk, read_variable, &walk->out->env);
	return skip_value(walk);
}

static bool root_member(struct walk *walk, struct slice key)
{
	struct slice path;

	if (!slice_equals(key, "path"))
		return skip_value(walk);
	if (!read_string(walk, &path))
		return false;
	if (path.len < sizeof(walk->out->root) &&
	    !memchr(path.start, '\\', path.len)) {
		memcpy(walk->out->root, path.start, path.len);
		walk->out->root[path.len] = '\0';
	}
	return true;
}

static bool container_member(struct walk *walk, struct slice key)
{
	bool object = next(walk) == '{';

	if (slice_equals(key, "process") && object)
		return read_object(walk, process_member);
	if (slice_equals(key, "root") && object)
		return read_object(walk, root_member);
	if (slice_equals(key, "mounts"))
		return read_list(walk, skip_value, &walk->out->mounts);
	return skip_value(walk);
}

int oci_spec_find(const char *text, size_t len, enum oci_spec_kind kind,
		  const char *const *names, struct oci_spec *out)
{
	struct walk walk = { .start = text,
			     .pos = text,
			     .end = text + len,
			     .names = names,
			     .out = out };

	*out = (struct oci_spec){ 0 };
	if (!read_object(&walk, kind == OCI_SPEC_PROCESS ? process_member
							 : container_member))
		return -1;
	next(&walk);
	return walk.pos == walk.end ? 0 : -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_spec.c - the start line between CLI and supervisor (PROTOCOL.md §7)
 *
 * One table says which key goes into which field, for both directions.
 */
#include "ipc/start_spec.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"

static const char *const goals[] = {
	[START_RESTORE] = "restore",
	[START_COLD] = "cold",
	[START_MAKE_WARM] = "make-warm",
};
_Static_assert(ARRAY_SIZE(goals) == START_GOALS, "a name for each goal");

static const char *const accels[] = {
	[START_ACCEL_TCG] = "tcg",
	[START_ACCEL_KVM] = "kvm",
};
_Static_assert(ARRAY_SIZE(accels) == START_ACCELS, "a name for each");

enum field_kind {
	FIELD_TEXT,      /* char *, not NULL */
	FIELD_TEXT_NULL, /* char *, may be NULL */
	FIELD_PATH,      /* char *, absolute */
	FIELD_PATH_NULL, /* char *, absolute or NULL */
	FIELD_NUMBER,    /* unsigned int, at least min */
	FIELD_FLAG,      /* bool */
	FIELD_GOAL,
	FIELD_ACCEL,
	FIELD_DISKS,
};

struct field {
	const char *key;
	enum field_kind kind;
	size_t offset;
	unsigned min, max; /* of a number */
};

_Static_assert(sizeof(uid_t) == sizeof(unsigned) &&
		       sizeof(gid_t) == sizeof(unsigned),
	       "ids are numbers of the table");

#define FIELD(name, kind_)                                            \
	{                                                             \
#name, kind_, offsetof(struct start_spec, name), 0, 0 \
	}
#define NUMBER(name, min_, max_)                                              \
	{                                                                     \
#name, FIELD_NUMBER, offsetof(struct start_spec, name), min_, \
			max_                                                  \
	}

static const struct field fields[] = {
	FIELD(goal, FIELD_GOAL),
	FIELD(accel, FIELD_ACCEL),
	FIELD(name, FIELD_TEXT),
	FIELD(id, FIELD_TEXT),
	FIELD(folder, FIELD_PATH),
	FIELD(qemu, FIELD_PATH),
	FIELD(ram_shim, FIELD_PATH_NULL),
	FIELD(ram, FIELD_PATH_NULL),
	FIELD(device_state, FIELD_PATH_NULL),
	FIELD(kernel, FIELD_PATH_NULL),
	FIELD(initramfs, FIELD_PATH_NULL),
	FIELD(disks, FIELD_DISKS),
	FIELD(spool, FIELD_PATH_NULL),
	NUMBER(cpus, 1, 1024),
	NUMBER(memory_mib, 1, 1u << 26),
	FIELD(marker, FIELD_TEXT_NULL),
	FIELD(machine, FIELD_TEXT),
	FIELD(cpu, FIELD_TEXT),
	FIELD(append, FIELD_TEXT_NULL),
	NUMBER(uid, 0, UINT32_MAX - 1),
	NUMBER(gid, 0, UINT32_MAX - 1),
	NUMBER(boot_timeout_ms, 0, UINT32_MAX),
	FIELD(remove_at_end, FIELD_FLAG),
	FIELD(agent_once, FIELD_FLAG),
	FIELD(files, FIELD_TEXT_NULL),
	NUMBER(shares, 0, START_SHARES_MAX),
	FIELD(net, FIELD_TEXT_NULL),
	FIELD(key, FIELD_TEXT_NULL),
	FIELD(facts, FIELD_TEXT_NULL),
	FIELD(sessions, FIELD_TEXT_NULL),
	NUMBER(idle_s, 0, UINT32_MAX / 1000),
	FIELD(consume, FIELD_FLAG),
	FIELD(authority, FIELD_TEXT_NULL),
	FIELD(git, FIELD_TEXT_NULL),
};

static json_t *encode_disks(const struct start_spec *spec)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < spec->disk_count; i++)
		if (json_array_append_new(list, json_string(spec->disks[i]))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *encode_field(const struct field *field,
			    const struct start_spec *spec)
{
	const char *at = (const char *)spec + field->offset;
	const char *text;
	unsigned number;

	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_TEXT_NULL:
	case FIELD_PATH:
	case FIELD_PATH_NULL:
		memcpy(&text, at, sizeof(text));
		return text ? json_string(text) : json_null();
	case FIELD_NUMBER:
		memcpy(&number, at, sizeof(number));
		return json_integer(number);
	case FIELD_FLAG:
		return json_boolean(*(const bool *)at);
	case FIELD_GOAL:
		return json_string(goals[spec->goal]);
	case FIELD_ACCEL:
		return json_string(accels[spec->accel]);
	case FIELD_DISKS:
		return encode_disks(spec);
	}
	return NULL;
}

char *start_spec_encode(const struct start_spec *spec)
{
	json_t *object = json_object();
	char *text = NULL;
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		bad |= json_object_set_new(object, fields[i].key,
					   encode_field(&fields[i], spec));
	if (!bad)
		text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

static int decode_name(const json_t *value, const char *const *names,
		       unsigned count, unsigned *out)
{
	const char *text = json_string_value(value);

	for (unsigned i = 0; text && i < count; i++)
		if (!strcmp(text, names[i])) {
			*out = i;
			return 0;
		}
	return -1;
}

static int decode_text(const struct field *field, const json_t *value, char *at)
{
	const char *text = json_string_value(value);
	bool null_allowed = field->kind == FIELD_TEXT_NULL ||
			    field->kind == FIELD_PATH_NULL;
	bool path = field->kind == FIELD_PATH || field->kind == FIELD_PATH_NULL;
	char *copy;

	if (json_is_null(value) && null_allowed)
		return 0;
	if (!text || (path && text[0] != '/'))
		return -1;
	copy = xstrdup(text);
	memcpy(at, &copy, sizeof(copy));
	return 0;
}

static int decode_number(const struct field *field, const json_t *value,
			 char *at)
{
	json_int_t number = json_integer_value(value);
	unsigned checked = (unsigned)number;

	if (!json_is_integer(value) || number < (json_int_t)field->min ||
	    number > (json_int_t)field->max)
		return -1;
	memcpy(at, &checked, sizeof(checked));
	return 0;
}

static int decode_disks(const json_t *value, struct start_spec *spec)
{
	size_t count = json_array_size(value);

	if (count < 1 || count > START_DISKS_MAX)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const char *path = json_string_value(json_array_get(value, i));

		if (!path || path[0] != '/')
			return -1;
		spec->disks[spec->disk_count++] = xstrdup(path);
	}
	return 0;
}

static int decode_field(const struct field *field, const json_t *value,
			struct start_spec *spec)
{
	char *at = (char *)spec + field->offset;
	unsigned index = 0;
	int result = -1;

	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_TEXT_NULL:
	case FIELD_PATH:
	case FIELD_PATH_NULL:
		return decode_text(field, value, at);
	case FIELD_NUMBER:
		return decode_number(field, value, at);
	case FIELD_FLAG:
		*(bool *)at = json_is_true(value);
		return json_is_boolean(value) ? 0 : -1;
	case FIELD_GOAL:
		result = decode_name(value, goals, START_GOALS, &index);
		spec->goal = (enum start_goal)index;
		return result;
	case FIELD_ACCEL:
		result = decode_name(value, accels, START_ACCELS, &index);
		spec->accel = (enum start_accel)index;
		return result;
	case FIELD_DISKS:
		return decode_disks(value, spec);
	}
	return -1;
}

static bool is_hex(const char *text, size_t digits)
{
	return strlen(text) == digits &&
	       strspn(text, "0123456789abcdef") == digits;
}

/* Its inside is bawn-files' to judge; here only that it says what we do. */
static int check_files(const struct start_spec *spec, struct error *err)
{
	json_t *object;
	size_t count;
	bool fits;

	if (!spec->files)
		return spec->shares ? error_set(err, 0,
						"start line: shares, no files")
				    : 0;
	object = json_loads(spec->files, JSON_REJECT_DUPLICATES, NULL);
	count = json_array_size(json_object_get(object, "shares"));
	fits = json_is_object(object) && count == spec->shares;
	json_decref(object);
	if (!fits || !count)
		return error_set(err, 0, "start line: files: not %u shares",
				 spec->shares);
	if (spec->goal == START_MAKE_WARM)
		return error_set(err, 0,
				 "start line: make-warm shares nothing");
	return 0;
}

/* Its inside is the launcher's and bawn-net's to judge. */
static int check_net(const struct start_spec *spec, struct error *err)
{
	json_t *object;
	bool fits;

	if (!spec->net)
		return 0;
	object = json_loads(spec->net, JSON_REJECT_DUPLICATES, NULL);
	fits = json_is_object(object);
	json_decref(object);
	if (!fits)
		return error_set(err, 0, "start line: net: not an object");
	if (spec->goal == START_MAKE_WARM)
		return error_set(err, 0,
				 "start line: make-warm has no network");
	return 0;
}

/* What the goal needs is there; the supervisor need not ask again. */
static int check_spec(const struct start_spec *spec, struct error *err)
{
	if (!spec->name[0])
		return error_set(err, 0, "start line: empty name");
	if (!is_hex(spec->id, 32))
		return error_set(err, 0, "start line: id: not 32 hex digits");
	if (spec->marker && !is_hex(spec->marker, 64))
		return error_set(err, 0,
				 "start line: marker: not 64 hex digits");
	if (spec->goal == START_RESTORE && !spec->marker)
		return error_set(err, 0, "start line: a restore needs marker");
	if (spec->goal != START_COLD && (!spec->ram || !spec->device_state))
		return error_set(err, 0,
				 "start line: %s needs ram and device_state",
				 goals[spec->goal]);
	if (spec->goal != START_RESTORE && (!spec->kernel || !spec->initramfs))
		return error_set(err, 0,
				 "start line: %s needs kernel and initramfs",
				 goals[spec->goal]);
	/* another machine than that of a memory which goes on */
	if (spec->goal != START_COLD && spec->spool)
		return error_set(err, 0, "start line: %s has no spool",
				 goals[spec->goal]);
	if (check_net(spec, err) < 0)
		return -1;
	return check_files(spec, err);
}

static int decode_object(const json_t *object, struct start_spec *spec,
			 struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const json_t *value = json_object_get(object, fields[i].key);

		if (!value)
			return error_set(err, 0, "start line: no %s",
					 fields[i].key);
		if (decode_field(&fields[i], value, spec) < 0)
			return error_set(err, 0, "start line: bad %s",
					 fields[i].key);
	}
	/* All keys are there once, so one more is one that we do not know. */
	if (json_object_size(object) != ARRAY_SIZE(fields))
		return error_set(err, 0, "start line: unknown key");
	return check_spec(spec, err);
}

int start_spec_decode(const char *text, size_t len, struct start_spec *spec,
		      struct error *err)
{
	json_error_t why;
	json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	int result;

	memset(spec, 0, sizeof(*spec));
	if (!object)
		return error_set(err, 0, "start line: not JSON");
	if (json_is_object(object))
		result = decode_object(object, spec, err);
	else
		result = error_set(err, 0, "start line: not an object");
	json_decref(object);
	if (result < 0)
		start_spec_release(spec);
	return result;
}

void start_spec_release(struct start_spec *spec)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char *text;

		if (fields[i].kind > FIELD_PATH_NULL)
			continue;
		memcpy(&text, (char *)spec + fields[i].offset, sizeof(text));
		free(text);
	}
	for (unsigned i = 0; i < spec->disk_count; i++)
		free(spec->disks[i]);
	memset(spec, 0, sizeof(*spec));
}

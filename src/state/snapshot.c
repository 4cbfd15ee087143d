/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - the manifest of a snapshot: to bytes and back
 *
 * It lies where a supervisor may write, so it is read as a stranger's.
 */
#include "state/snapshot.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

AUTO_DEFINE(json, json_t *, json_decref)

static json_t *file_json(const struct snapshot_file *file)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:s}", "size",
			 (json_int_t)file->size, "bytes",
			 (json_int_t)file->bytes, "inode",
			 (json_int_t)file->inode, "changed_ns",
			 (json_int_t)file->changed_ns, "sum", file->sum);
}

char *snapshot_encode(const struct snapshot *snapshot)
{
	AUTO(json)
	json_t *root = json_pack(
		"{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b, s:I, s:I, "
		"s:O}",
		"version", SNAPSHOT_VERSION, "key", snapshot->key, "facts",
		snapshot->facts, "marker", snapshot->marker, "accel",
		snapshot->accel, "machine", snapshot->machine, "cpu",
		snapshot->cpu, "cpus", (json_int_t)snapshot->cpus, "memory_mib",
		(json_int_t)snapshot->memory_mib, "quiet", snapshot->quiet,
		"created", (json_int_t)snapshot->created, "next_session",
		(json_int_t)snapshot->next_session, "sessions",
		snapshot->sessions);

	if (!root)
		return NULL;
	json_object_set_new(root, "ram", file_json(&snapshot->ram));
	json_object_set_new(root, "state", file_json(&snapshot->state));
	json_object_set_new(root, "disk", file_json(&snapshot->disk));
	return json_dumps(root, JSON_COMPACT);
}

static int copy_text(char *to, size_t size, const char *from)
{
	if (strlen(from) >= size)
		return -1;
	text_copy(to, size, from);
	return 0;
}

static bool is_hex(const char *text, size_t len)
{
	return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

static int parse_file(json_t *json, struct snapshot_file *file)
{
	json_int_t size, bytes, inode, changed_ns;
	const char *sum;

	if (json_unpack(json, "{s:I, s:I, s:I, s:I, s:s !}", "size", &size,
			"bytes", &bytes, "inode", &inode, "changed_ns",
			&changed_ns, "sum", &sum) < 0 ||
	    size < 0 || bytes < 0 || copy_text(file->sum, 65, sum) < 0)
		return -1;
	file->size = (uint64_t)size;
	file->bytes = (uint64_t)bytes;
	file->inode = (uint64_t)inode;
	file->changed_ns = changed_ns;
	return 0;
}

static int check_numbers(struct snapshot *snapshot, json_int_t cpus,
			 json_int_t memory_mib, json_int_t next_session)
{
	if (cpus < 1 || cpus > 4096 || memory_mib < 1 || memory_mib > 1 << 24 ||
	    next_session < 1 || next_session > UINT32_MAX)
		return -1;
	snapshot->cpus = (unsigned)cpus;
	snapshot->memory_mib = (unsigned)memory_mib;
	snapshot->next_session = (uint32_t)next_session;
	return 0;
}

static int check_sessions(struct snapshot *snapshot, json_t *sessions)
{
	json_t *item;
	size_t i;

	if (!json_is_array(sessions) ||
	    json_array_size(sessions) > SNAPSHOT_SESSIONS_MAX)
		return -1;
	json_array_foreach(sessions, i, item)
	{
		if (!json_is_object(item))
			return -1;
	}
	snapshot->sessions = json_incref(sessions);
	return 0;
}

static int take(json_t *root, struct snapshot *snapshot, json_error_t *why)
{
	const char *key, *marker, *accel, *machine, *cpu, *facts = "";
	json_int_t cpus, memory_mib, created, next_session;
	json_t *ram, *state, *disk, *sessions;
	int version, quiet;

	if (json_unpack_ex(root, why, JSON_STRICT,
			   "{s:i, s:s, s?s, s:s, s:s, s:s, s:s, s:I, s:I, s:b, "
			   "s:I, s:I, s:o, s:o, s:o, s:o}",
			   "version", &version, "key", &key, "facts", &facts,
			   "marker", &marker, "accel", &accel, "machine",
			   &machine, "cpu", &cpu, "cpus", &cpus, "memory_mib",
			   &memory_mib, "quiet", &quiet, "created", &created,
			   "next_session", &next_session, "sessions", &sessions,
			   "ram", &ram, "state", &state, "disk", &disk) < 0)
		return -1;
	text_copy(why->text, sizeof(why->text), "a wrong value");
	snapshot->quiet = quiet;
	snapshot->created = created;
	if (version != SNAPSHOT_VERSION || !is_hex(key, 64) ||
	    !is_hex(marker, 64) || copy_text(snapshot->key, 65, key) < 0 ||
	    copy_text(snapshot->facts, sizeof(snapshot->facts), facts) < 0 ||
	    copy_text(snapshot->marker, 65, marker) < 0 ||
	    copy_text(snapshot->accel, sizeof(snapshot->accel), accel) < 0 ||
	    copy_text(snapshot->machine, sizeof(snapshot->machine), machine) <
		    0 ||
	    copy_text(snapshot->cpu, sizeof(snapshot->cpu), cpu) < 0 ||
	    check_numbers(snapshot, cpus, memory_mib, next_session) < 0 ||
	    parse_file(ram, &snapshot->ram) < 0 ||
	    parse_file(state, &snapshot->state) < 0 ||
	    parse_file(disk, &snapshot->disk) < 0)
		return -1;
	return check_sessions(snapshot, sessions);
}

/* Whatever else another format has is not looked at. */
static int check_version(json_t *root, struct error *err)
{
	json_t *version = json_object_get(root, "version");
	char text[80];

	if (!json_is_integer(version) ||
	    json_integer_value(version) == SNAPSHOT_VERSION)
		return 0;
	text_format(text, sizeof(text), "another format (kept: %lld, here: %d)",
		    (long long)json_integer_value(version), SNAPSHOT_VERSION);
	return snapshot_refuse(err, ESTALE, text);
}

int snapshot_parse(const void *bytes, size_t len, struct snapshot *snapshot,
		   struct error *err)
{
	json_error_t why = { 0 };
	AUTO(json) json_t *root = NULL;
	char text[sizeof(why.text) + 32];

	*snapshot = (struct snapshot){ 0 };
	if (len > SNAPSHOT_BYTES_MAX)
		return snapshot_refuse(err, EBADMSG,
				       SNAPSHOT_FILE " is too long");
	root = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &why);
	if (root && check_version(root, err) < 0)
		return -1;
	if (root && take(root, snapshot, &why) == 0)
		return 0;
	snapshot_release(snapshot);
	text_format(text, sizeof(text), SNAPSHOT_FILE ": %s", why.text);
	return snapshot_refuse(err, EBADMSG, text);
}

void snapshot_release(struct snapshot *snapshot)
{
	json_decref(snapshot->sessions);
	*snapshot = (struct snapshot){ 0 };
}

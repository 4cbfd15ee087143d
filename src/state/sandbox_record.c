/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_record.c - what is on disk about one sandbox
 *
 * A table of fields serves loading, saving and releasing, so that none of the
 * three can forget one. state.json may have been written by a supervisor that
 * was confined but reads a guest's bytes: its text is bounded and shown only
 * as printable characters.
 */
#include "state/sandbox_record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/sandbox_removal.h"
#include "state/snapshot.h"

#define RECORD_FILE "sandbox.json"
#define STATE_FILE "state.json"
#define STATE_PATH SANDBOX_MACHINE_FOLDER "/" STATE_FILE
#define SUSPENDED_PATH \
	SANDBOX_MACHINE_FOLDER "/" SNAPSHOT_SUSPENDED "/" SNAPSHOT_FILE
#define USED_FILE "used"
#define FILE_MAX (256u * 1024)
#define HIDE_MAX 1024

AUTO_DEFINE(json, json_t *, json_decref)

enum field_kind {
	FIELD_TEXT,
	FIELD_OPTIONAL_TEXT,
	FIELD_UNSIGNED,
	FIELD_U64,
	FIELD_S64,
	FIELD_BOOL,
	FIELD_OPTIONAL_BOOL, /* false where a record does not say */
};

struct field {
	const char *key;
	enum field_kind kind;
	size_t offset;
};

#define FIELD(name, type)                                          \
	{                                                          \
#name, type, offsetof(struct sandbox_record, name) \
	}

static const struct field fields[] = {
	FIELD(name, FIELD_TEXT),
	FIELD(id, FIELD_TEXT),
	FIELD(agent, FIELD_TEXT),
	FIELD(mode, FIELD_TEXT),
	FIELD(cloned, FIELD_BOOL),
	FIELD(with_changes, FIELD_BOOL),
	FIELD(quota_bytes, FIELD_U64),
	FIELD(quota_inodes, FIELD_U64),
	FIELD(ask, FIELD_BOOL),
	FIELD(no_git_identity, FIELD_OPTIONAL_BOOL),
	FIELD(ssh_keys, FIELD_OPTIONAL_TEXT),
	FIELD(template_name, FIELD_TEXT),
	FIELD(template_id, FIELD_TEXT),
	FIELD(warm_key, FIELD_OPTIONAL_TEXT),
	FIELD(kernel_key, FIELD_OPTIONAL_TEXT),
	FIELD(machine, FIELD_OPTIONAL_TEXT),
	FIELD(cpu, FIELD_OPTIONAL_TEXT),
	FIELD(accel, FIELD_TEXT),
	FIELD(accel_used, FIELD_OPTIONAL_TEXT),
	FIELD(isolation, FIELD_TEXT),
	FIELD(cpus, FIELD_UNSIGNED),
	FIELD(memory_mib, FIELD_UNSIGNED),
	FIELD(disk_bytes, FIELD_U64),
	FIELD(uid, FIELD_UNSIGNED),
	FIELD(remove_at_end, FIELD_BOOL),
	FIELD(created, FIELD_S64),
	FIELD(last_used, FIELD_S64),
};
_Static_assert(sizeof(uid_t) == sizeof(unsigned), "uid is FIELD_UNSIGNED");

static const char *const status_names[] = {
	[SANDBOX_STATUS_RUNNING] = "running",
	[SANDBOX_STATUS_STARTING] = "starting",
	[SANDBOX_STATUS_PAUSED] = "paused",
	[SANDBOX_STATUS_SUSPENDED] = "suspended",
	[SANDBOX_STATUS_STOPPED] = "stopped",
	[SANDBOX_STATUS_FAILED] = "failed",
};
_Static_assert(ARRAY_SIZE(status_names) == SANDBOX_STATUSES,
	       "a name for each status");

const char *sandbox_status_name(enum sandbox_status status)
{
	return status < SANDBOX_STATUSES ? status_names[status] : "unknown";
}

enum writer {
	WRITER_ANY, /* also a supervisor under its sandbox's uid */
	WRITER_US,  /* a confined supervisor may rename files in its folder,
		       but it cannot make one that belongs to us */
};

static int read_file(int folder_fd, const char *file, enum writer writer,
		     struct buffer *text, struct error *err)
{
	AUTO_CLOSE int fd = openat(folder_fd, file,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", file);
	if (!S_ISREG(st.st_mode) ||
	    (writer == WRITER_US && st.st_uid != geteuid()))
		return error_set(err, 0, "%s: not a file of ours", file);
	return fileio_read_fd(fd, text, err);
}

static json_t *load_object(int folder_fd, const char *file, enum writer writer,
			   struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_MAX);
	json_error_t bad;
	json_t *object;

	if (read_file(folder_fd, file, writer, &text, err) < 0)
		return NULL;
	object = json_loadb((const char *)text.data, text.len,
			    JSON_REJECT_DUPLICATES, &bad);
	if (!json_is_object(object)) {
		json_decref(object);
		error_set(err, 0,
			  "%s: damaged (remove the sandbox with "
			  "`bawn rm -f`)",
			  file);
		return NULL;
	}
	return object;
}

static int save_object(int folder_fd, const char *file, json_t *object,
		       unsigned flags, struct error *err)
{
	AUTO_FREE char *text = json_dumps(object, JSON_INDENT(2));

	if (!text)
		return error_set(err, 0, "%s: text is not UTF-8", file);
	return fileio_replace(folder_fd, file, text, strlen(text), 0600, flags,
			      err);
}

/*
 * On a full disk there is no room for a second file, but the first one's block
 * is there: "the disk is full" is what must get through then. One write, with
 * blanks over what was longer, so that a reader never sees a mixture.
 */
static int overwrite_object(int folder_fd, const char *file, json_t *object,
			    struct error *err)
{
	AUTO_FREE char *text = json_dumps(object, JSON_INDENT(2));
	AUTO_BUFFER struct buffer padded = BUFFER_INIT(FILE_MAX);
	AUTO_CLOSE int fd =
		openat(folder_fd, file, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", file);
	if (!text || buffer_append(&padded, text, strlen(text)) < 0)
		return error_set(err, 0, "%s: text is not UTF-8", file);
	while ((off_t)padded.len < st.st_size)
		if (buffer_append(&padded, " ", 1) < 0)
			return error_set(err, EFBIG, "%s", file);
	if (fileio_write_all(fd, padded.data, padded.len, err) < 0)
		return error_prefix(err, "%s", file);
	return 0;
}

static int bad_field(const char *key, struct error *err)
{
	return error_set(err, 0, RECORD_FILE ": field \"%s\" is wrong", key);
}

static int load_number(const struct field *field, const json_t *value, void *at,
		       struct error *err)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		return bad_field(field->key, err);
	if (field->kind == FIELD_S64) {
		*(int64_t *)at = number;
		return 0;
	}
	if (number < 0 ||
	    (field->kind == FIELD_UNSIGNED && number > (json_int_t)UINT32_MAX))
		return bad_field(field->key, err);
	if (field->kind == FIELD_UNSIGNED)
		*(unsigned *)at = (unsigned)number;
	else
		*(uint64_t *)at = (uint64_t)number;
	return 0;
}

static int load_field(const struct field *field, const json_t *object,
		      struct sandbox_record *record, struct error *err)
{
	const json_t *value = json_object_get(object, field->key);
	void *at = (char *)record + field->offset;

	switch (field->kind) {
	case FIELD_OPTIONAL_TEXT:
		if (!value || json_is_null(value))
			return 0;
		__attribute__((fallthrough));
	case FIELD_TEXT:
		if (!json_is_string(value))
			return bad_field(field->key, err);
		*(char **)at = xstrdup(json_string_value(value));
		return 0;
	case FIELD_OPTIONAL_BOOL:
		if (!value)
			return 0;
		__attribute__((fallthrough));
	case FIELD_BOOL:
		if (!json_is_boolean(value))
			return bad_field(field->key, err);
		*(bool *)at = json_is_true(value);
		return 0;
	default:
		return load_number(field, value, at, err);
	}
}

static int load_hide(const json_t *object, struct sandbox_record *record,
		     struct error *err)
{
	const json_t *list = json_object_get(object, "hide");
	size_t count = json_array_size(list);

	if (!json_is_array(list) || count > HIDE_MAX)
		return bad_field("hide", err);
	record->hide = xcalloc(count + 1, sizeof(char *));
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text)
			return bad_field("hide", err);
		record->hide[i] = xstrdup(text);
	}
	return 0;
}

static int load_lists(const json_t *object, struct sandbox_record *record,
		      struct error *err)
{
	if (share_list_decode(json_object_get(object, "shares"),
			      &record->shares, err) < 0)
		return error_prefix(err, RECORD_FILE);
	if (port_list_decode(json_object_get(object, "ports"), &record->ports,
			     err) < 0 ||
	    socket_list_decode(json_object_get(object, "sockets"),
			       &record->sockets, err) < 0)
		return error_prefix(err, RECORD_FILE);
	return load_hide(object, record, err);
}

/* What a record of an earlier version does not say. */
static json_int_t bring_up_to_date(json_t *object)
{
	json_int_t version =
		json_integer_value(json_object_get(object, "version"));

	if (version != 2)
		return version;
	json_object_set_new(object, "ports", json_array());
	json_object_set_new(object, "sockets", json_array());
	json_object_set_new(object, "ask", json_false());
	return SANDBOX_RECORD_VERSION;
}

static int check_component(const char *key, const char *text, struct error *err)
{
	if (!text || (*text && *text != '.' && !strchr(text, '/')))
		return 0;
	return bad_field(key, err);
}

int sandbox_record_load(int folder_fd, struct sandbox_record *record,
			struct error *err)
{
	AUTO(json)
	json_t *object = load_object(folder_fd, RECORD_FILE, WRITER_US, err);
	json_int_t version;
	struct stat used;
	int failed;

	memset(record, 0, sizeof(*record));
	if (!object)
		return -1;
	version = bring_up_to_date(object);
	if (version != SANDBOX_RECORD_VERSION)
		return error_set(err, 0,
				 RECORD_FILE ": version %lld is not known to "
					     "this bawn (update it)",
				 (long long)version);
	failed = load_lists(object, record, err);
	for (size_t i = 0; !failed && i < ARRAY_SIZE(fields); i++)
		failed = load_field(&fields[i], object, record, err);
	/* these become parts of paths */
	if (!failed)
		failed = sandbox_name_check(record->name, err);
	if (!failed)
		failed = check_component("warm_key", record->warm_key, err);
	if (!failed)
		failed = check_component("kernel_key", record->kernel_key, err);
	if (!failed &&
	    fstatat(folder_fd, USED_FILE, &used, AT_SYMLINK_NOFOLLOW) == 0 &&
	    used.st_mtime > record->last_used)
		record->last_used = used.st_mtime;
	if (failed)
		sandbox_record_release(record);
	return failed;
}

static json_t *field_json(const struct field *field,
			  const struct sandbox_record *record)
{
	const void *at = (const char *)record + field->offset;

	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_OPTIONAL_TEXT:
		return *(char *const *)at ? json_string(*(char *const *)at)
					  : json_null();
	case FIELD_UNSIGNED:
		return json_integer(*(const unsigned *)at);
	case FIELD_U64:
		return json_integer((json_int_t) * (const uint64_t *)at);
	case FIELD_S64:
		return json_integer(*(const int64_t *)at);
	case FIELD_BOOL:
	case FIELD_OPTIONAL_BOOL:
		return json_boolean(*(const bool *)at);
	}
	return NULL;
}

void sandbox_record_touch(int folder_fd)
{
	AUTO_CLOSE int fd = openat(
		folder_fd, USED_FILE,
		O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd >= 0)
		futimens(fd, NULL);
}

static json_t *hide_json(char *const *hide)
{
	json_t *list = json_array();

	for (; hide && *hide; hide++)
		if (json_array_append_new(list, json_string(*hide)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

int sandbox_record_save(int folder_fd, const struct sandbox_record *record,
			struct error *err)
{
	AUTO(json) json_t *object = json_object();

	json_object_set_new(object, "version",
			    json_integer(SANDBOX_RECORD_VERSION));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (json_object_set_new(object, fields[i].key,
					field_json(&fields[i], record)) < 0)
			return error_set(err, 0, "field \"%s\" is not UTF-8",
					 fields[i].key);
	if (json_object_set_new(object, "shares",
				share_list_encode(&record->shares)) < 0)
		return error_set(err, 0, "a folder's path is not UTF-8");
	json_object_set_new(object, "ports", port_list_encode(&record->ports));
	if (json_object_set_new(object, "sockets",
				socket_list_encode(&record->sockets)) < 0)
		return error_set(err, 0, "a socket's path is not UTF-8");
	if (json_object_set_new(object, "hide", hide_json(record->hide)) < 0)
		return error_set(err, 0, "a hidden path is not UTF-8");
	/* what ends with its command need not survive a power cut */
	return save_object(folder_fd, RECORD_FILE, object,
			   record->remove_at_end ? 0 : FILEIO_SYNC, err);
}

void sandbox_record_release(struct sandbox_record *record)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].kind == FIELD_TEXT ||
		    fields[i].kind == FIELD_OPTIONAL_TEXT)
			free(*(char **)(void *)((char *)record +
						fields[i].offset));
	for (char **h = record->hide; h && *h; h++)
		free(*h);
	free(record->hide);
	share_list_release(&record->shares);
	socket_list_release(&record->sockets);
	memset(record, 0, sizeof(*record));
}

static void copy_printable(const json_t *value, char *dst, size_t size)
{
	const char *text = json_string_value(value);

	if (text)
		text_printable(text, strlen(text), dst, size);
}

static void state_from_json(const json_t *object, struct sandbox_state *state)
{
	const char *status =
		json_string_value(json_object_get(object, "status"));

	for (size_t i = 0; status && i < SANDBOX_STATUSES; i++)
		if (!strcmp(status, status_names[i]))
			state->status = (enum sandbox_status)i;
	copy_printable(json_object_get(object, "accel"), state->accel,
		       sizeof(state->accel));
	copy_printable(json_object_get(object, "reason"), state->reason,
		       sizeof(state->reason));
	state->supervisor_pid = (pid_t)json_integer_value(
		json_object_get(object, "supervisor_pid"));
	state->qemu_pid =
		(pid_t)json_integer_value(json_object_get(object, "qemu_pid"));
	state->since = json_integer_value(json_object_get(object, "since"));
}

static bool needs_supervisor(enum sandbox_status status)
{
	return status == SANDBOX_STATUS_RUNNING ||
	       status == SANDBOX_STATUS_STARTING ||
	       status == SANDBOX_STATUS_PAUSED;
}

int sandbox_state_load(int folder_fd, struct sandbox_state *state,
		       struct error *err)
{
	struct error missing = { 0 };
	AUTO(json) json_t *object = NULL;
	bool alive;

	memset(state, 0, sizeof(*state));
	state->status = SANDBOX_STATUS_STOPPED;
	/*
	 * The lock first: a supervisor that ends between the two looks says
	 * "stopped" in the file, and that is true.
	 */
	alive = fileio_is_locked(folder_fd, SANDBOX_ALIVE_FILE) == 1;
	object = load_object(folder_fd, STATE_PATH, WRITER_ANY, &missing);
	if (object)
		state_from_json(object, state);
	else if (missing.code != ENOENT)
		return err ? (*err = missing, -1) : -1;
	else if (alive)
		state->status = SANDBOX_STATUS_STARTING;
	/* Its memory may have been dropped since. */
	if (!alive && state->status == SANDBOX_STATUS_SUSPENDED &&
	    faccessat(folder_fd, SUSPENDED_PATH, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		state->status = SANDBOX_STATUS_STOPPED;
	if (alive || !needs_supervisor(state->status))
		return 0;
	state->status = SANDBOX_STATUS_FAILED;
	state->supervisor_pid = state->qemu_pid = 0;
	text_copy(state->reason, sizeof(state->reason),
		  "its supervisor was killed; the next start boots from its "
		  "disk");
	return 0;
}

int sandbox_state_save(int machine_fd, const struct sandbox_state *state,
		       struct error *err)
{
	AUTO(json) json_t *object = json_object();
	struct error full = { 0 };

	json_object_set_new(object, "status",
			    json_string(sandbox_status_name(state->status)));
	json_object_set_new(object, "accel", json_string(state->accel));
	json_object_set_new(object, "reason", json_string(state->reason));
	json_object_set_new(object, "supervisor_pid",
			    json_integer(state->supervisor_pid));
	json_object_set_new(object, "qemu_pid", json_integer(state->qemu_pid));
	json_object_set_new(object, "since", json_integer(state->since));
	if (save_object(machine_fd, STATE_FILE, object, 0, &full) == 0 ||
	    (full.code == ENOSPC &&
	     overwrite_object(machine_fd, STATE_FILE, object, &full) == 0))
		return 0;
	if (err)
		*err = full;
	return -1;
}

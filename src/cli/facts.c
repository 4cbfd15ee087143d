/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - what `ls` and `inspect` tell about a sandbox
 */
#include "cli/facts.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/disk_use.h"
#include "cli/files_config.h"
#include "cli/keys.h"
#include "cli/policy_set.h"
#include "cli/store.h"
#include "cli/table.h"
#include "cli/variables.h"
#include "ipc/control.h"
#include "provision/template.h"
#include "provision/warm.h"
#include "state/paths.h"

#define ANSWER_SECONDS 5
#define MASK "********"
#define BLOCK 512

AUTO_DEFINE(json, json_t *, json_decref)

static const char *accel_of(const struct sandbox *sandbox,
			    const struct sandbox_state *state)
{
	if (state->accel[0])
		return state->accel;
	return sandbox->record.accel_used ? sandbox->record.accel_used : "";
}

void facts_isolation(const struct sandbox *sandbox,
		     const struct sandbox_state *state, char *dst, size_t size)
{
	const char *accel = accel_of(sandbox, state);

	text_format(dst, size, "%s%s%s", sandbox->record.isolation,
		    *accel ? "/" : "", accel);
}

void facts_status(const struct sandbox_state *state, char *dst, size_t size)
{
	const char *name = sandbox_status_name(state->status);

	if (state->status == SANDBOX_STATUS_PAUSED && state->reason[0])
		text_format(dst, size, "%s (%s)", name, state->reason);
	else
		text_copy(dst, size, name);
}

static json_t *time_json(int64_t when)
{
	char text[40];

	table_time(when, text, sizeof(text));
	return json_string(text);
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

void facts_workspace(const struct sandbox_record *record, char *dst,
		     size_t size)
{
	const struct share_record *first = record->shares.items;
	bool direct = !strcmp(record->mode, "direct");

	dst[0] = '\0';
	if (record->shares.count)
		text_format(dst, size, "%s%s%s%s%s", first->host,
			    first->read_only ? ":ro" : "", direct ? "" : " (",
			    direct ? "" : record->mode, direct ? "" : ")");
}

static json_t *workspaces_json(const struct sandbox_record *record)
{
	json_t *list = json_array();

	for (size_t i = 0; i < record->shares.count; i++) {
		const struct share_record *share = &record->shares.items[i];

		if (!share->added)
			json_array_append_new(
				list,
				json_pack("{s:s, s:b}", "path", share->host,
					  "read_only", share->read_only));
	}
	return list;
}

json_t *facts_row(const struct sandbox *sandbox,
		  const struct sandbox_state *state)
{
	const struct sandbox_record *record = &sandbox->record;
	char isolation[64];

	facts_isolation(sandbox, state, isolation, sizeof(isolation));
	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:s, "
			 "s:o, s:o}",
			 "name", record->name, "agent", record->agent, "status",
			 sandbox_status_name(state->status), "reason",
			 text_or_null(state->reason), "isolation", isolation,
			 "accel", text_or_null(accel_of(sandbox, state)),
			 "ports", port_list_encode(&record->ports),
			 "workspaces", workspaces_json(record),
			 "workspace_mode", record->mode, "template",
			 record->template_name, "created",
			 time_json(record->created), "last_used",
			 time_json(record->last_used));
}

static json_int_t used_bytes(int folder, const char *path)
{
	struct stat st;

	if (fstatat(folder, path, &st, 0) < 0)
		return 0;
	return (json_int_t)st.st_blocks * BLOCK;
}

json_t *facts_disk(const struct sandbox *sandbox)
{
	const struct sandbox_record *record = &sandbox->record;
	json_int_t shared = 0;
	struct template template = { 0 };
	AUTO_FREE char *sub = NULL;
	AUTO_FREE char *warm = NULL;
	struct disk_use use;

	if (template_find_content(record->template_name, record->template_id,
				  &template, NULL) == 0)
		shared += (json_int_t) template.used_bytes;
	template_release(&template);
	if (record->warm_key) {
		sub = xasprintf("warm/%s/disk.qcow2", record->warm_key);
		warm = paths_of(PATHS_DATA, sub, NULL);
	}
	if (warm)
		shared += used_bytes(sandbox->folder, warm);
	disk_use_of(sandbox->folder, ".", &use);
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "size_bytes",
			 (json_int_t)record->disk_bytes, "own_bytes",
			 (json_int_t)use.own, "shared_bytes",
			 shared + (json_int_t)use.shared, "memory_bytes",
			 (json_int_t)use.memory, "checkpoint_bytes",
			 (json_int_t)use.checkpoints);
}

static json_t *checkpoint_labels(const struct sandbox *sandbox)
{
	AUTO_FREE struct checkpoint *list = NULL;
	json_t *labels = json_array();
	size_t count = 0;

	if (checkpoint_list(sandbox, &list, &count, NULL) == 0) {
		for (size_t i = 0; i < count; i++)
			json_array_append_new(labels,
					      json_string(list[i].label));
	}
	return labels;
}

static json_t *masked_env(const struct sandbox *sandbox)
{
	AUTO(json) json_t *own = variables_load(sandbox->folder, NULL);
	json_t *masked = json_object(), *value;
	const char *key;

	json_object_foreach(own, key, value)
		json_object_set_new(masked, key, json_string(MASK));
	return masked;
}

/* The supervisor's own words; NULL when there is none. */
static json_t *ask_status(const struct sandbox *sandbox)
{
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	struct control_client client;
	int fd = control_connect(sandbox->folder, NULL);
	json_t *answer;

	if (fd < 0)
		return NULL;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	control_client_init(&client, fd);
	answer =
		control_call(&client, json_pack("{s:s}", "op", "status"), NULL);
	control_client_release(&client);
	return answer;
}

static void add_live(json_t *facts, const struct sandbox *sandbox)
{
	AUTO(json) json_t *status = ask_status(sandbox);
	json_t *sessions = json_object_get(status, "sessions");
	json_t *phases = json_object_get(status, "phases");
	json_t *session;
	size_t i;

	json_array_foreach(sessions, i, session)
	{
		json_t *started = json_object_get(session, "started");

		if (json_is_integer(started))
			json_object_set_new(
				session, "started",
				time_json(json_integer_value(started)));
	}
	json_object_set_new(facts, "sessions",
			    sessions ? json_incref(sessions) : json_array());
	json_object_set_new(facts, "phases",
			    phases ? json_incref(phases) : json_object());
}

/* The folders as they are at the next start, with what is hidden in each. */
static void add_files(json_t *facts, const struct sandbox_record *record)
{
	struct error unread = { 0 };
	AUTO(json) json_t *files = files_config_make(record, &unread);
	json_t *mounts = share_list_encode(&record->shares), *mount;
	size_t i;

	json_array_foreach(mounts, i, mount)
	{
		const json_t *share =
			json_array_get(json_object_get(files, "shares"), i);

		json_object_set(mount, "hidden",
				json_object_get(share, "hide"));
	}
	json_object_set_new(facts, "mounts", mounts);
	json_object_set_new(facts, "quota",
			    json_pack("{s:I, s:I}", "bytes",
				      (json_int_t)record->quota_bytes, "inodes",
				      (json_int_t)record->quota_inodes));
}

/* Which rules hold; what is wrong with them is said by `policy ls`. */
static json_t *policy_json(const struct sandbox *sandbox)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };
	AUTO(policy) struct policy *policy = NULL;
	struct error err = { 0 };

	if (policy_set_load(sandbox, &set, &err) == 0)
		policy = policy_set_compile(&set, &err);
	if (!policy)
		return json_pack("{s:s}", "error", err.text);
	return json_pack("{s:s, s:s, s:I, s:b}", "preset", set.preset,
			 "default",
			 policy_allows_by_default(policy) ? "allow" : "deny",
			 "rules", (json_int_t)policy_rule_count(policy), "ask",
			 sandbox->record.ask);
}

json_t *facts_all(const struct sandbox *sandbox,
		  const struct sandbox_state *state)
{
	const struct sandbox_record *record = &sandbox->record;
	json_t *facts = facts_row(sandbox, state);

	json_object_set_new(facts, "id", json_string(record->id));
	json_object_set_new(facts, "state",
			    json_string(sandbox_status_name(state->status)));
	json_object_set_new(facts, "isolation", json_string(record->isolation));
	json_object_set_new(facts, "template",
			    json_pack("{s:s, s:s}", "name",
				      record->template_name, "digest",
				      record->template_id));
	json_object_set_new(facts, "warm_key", text_or_null(record->warm_key));
	json_object_set_new(facts, "kernel", text_or_null(record->kernel_key));
	json_object_set_new(facts, "cpus", json_integer(record->cpus));
	json_object_set_new(facts, "memory",
			    json_integer((json_int_t)record->memory_mib << 20));
	json_object_set_new(facts, "disk", facts_disk(sandbox));
	add_files(facts, record);
	json_object_set_new(facts, "policy", policy_json(sandbox));
	json_object_set_new(facts, "sockets",
			    socket_list_encode(&record->sockets));
	json_object_set_new(facts, "secrets", keys_names(sandbox));
	json_object_set_new(facts, "checkpoints", checkpoint_labels(sandbox));
	json_object_set_new(facts, "env", masked_env(sandbox));
	json_object_set_new(facts, "remove_at_end",
			    json_boolean(record->remove_at_end));
	json_object_set_new(facts, "supervisor_pid",
			    json_integer(state->supervisor_pid));
	json_object_set_new(facts, "qemu_pid", json_integer(state->qemu_pid));
	add_live(facts, sandbox);
	return facts;
}

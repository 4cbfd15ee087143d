/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - new sandboxes from a checkpoint of another
 */
#include "cli/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/changes.h"
#include "cli/checkpoint.h"
#include "cli/create.h"
#include "cli/files_config.h"
#include "cli/image_command.h"
#include "cli/mcp_host.h"
#include "cli/plan.h"
#include "cli/policy_set.h"
#include "cli/resume.h"
#include "cli/store.h"
#include "ipc/start_spec.h"
#include "state/events.h"
#include "state/snapshot.h"

AUTO_DEFINE(json, json_t *, json_decref)

char *fork_free_name(const struct store *store, const char *parent,
		     unsigned *next)
{
	for (;; (*next)++) {
		char *name = xasprintf("%.50s-%u", parent, *next);
		bool taken = false;

		for (size_t i = 0; i < store->count && !taken; i++)
			taken = !strcmp(store->names[i], name);
		if (!taken) {
			(*next)++;
			return name;
		}
		free(name);
	}
}

static void layer_name(unsigned number, char name[FORK_LAYER_NAME])
{
	text_format(name, FORK_LAYER_NAME, FORK_LAYERS "/%02u.qcow2", number);
}

int fork_add_layers(const struct sandbox *sandbox, struct start_spec *spec,
		    struct error *err)
{
	unsigned count = 0;
	char name[FORK_LAYER_NAME];

	for (; count < FORK_LAYERS_MAX; count++) {
		layer_name(count, name);
		if (faccessat(sandbox->folder, name, F_OK, 0) < 0)
			break;
	}
	/* With the template, the warm disk and the top one. */
	if (spec->disk_count + count + 2 > START_DISKS_MAX)
		return error_set(err, 0, "too many layers");
	while (count-- > 0) {
		layer_name(count, name);
		spec->disks[spec->disk_count++] =
			xasprintf("%s/%s", spec->folder, name);
	}
	return 0;
}

static int link_file(int from, const char *from_name, int to,
		     const char *to_name, struct error *err)
{
	return linkat(from, from_name, to, to_name, 0) < 0
		       ? error_set(err, errno, "%s", from_name)
		       : 0;
}

static int open_place(const struct sandbox *sandbox, const char *label,
		      struct error *err)
{
	AUTO_FREE char *place = xasprintf("%s/%s", CHECKPOINT_FOLDER, label);
	int fd = openat(sandbox->folder, place,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? error_set(err, errno, "%s", place) : fd;
}

int fork_share_layers(const struct sandbox *parent, const struct sandbox *child,
		      char name[FORK_LAYER_NAME], struct error *err)
{
	unsigned count = 0;

	if (mkdirat(child->folder, FORK_LAYERS, 0700) < 0)
		return error_set(err, errno, FORK_LAYERS);
	for (;; count++) {
		layer_name(count, name);
		if (faccessat(parent->folder, name, F_OK, 0) < 0)
			break;
		if (link_file(parent->folder, name, child->folder, name, err) <
		    0)
			return -1;
	}
	if (count >= FORK_LAYERS_MAX)
		return error_set(
			err, 0,
			"%s is a fork of a fork %u times over: no more "
			"layers fit",
			parent->record.name, count);
	return 0;
}

/* The parent's own layers, and on top of them its disk at that moment. */
static int share_disks(const struct sandbox *parent, int checkpoint,
		       const struct sandbox *child, struct error *err)
{
	char name[FORK_LAYER_NAME];

	if (fork_share_layers(parent, child, name, err) < 0)
		return -1;
	return link_file(checkpoint, SNAPSHOT_DISK, child->folder, name, err);
}

static int share_memory(const struct checkpoint *from, int checkpoint,
			const struct sandbox *child, struct error *err)
{
	static const char *const names[] = { SNAPSHOT_RAM, SNAPSHOT_STATE,
					     SNAPSHOT_FILE, CHECKPOINT_SHARES };
	AUTO_CLOSE int origin = -1;

	if (!from->memory)
		return 0;
	if (mkdirat(child->folder, RESUME_ORIGIN, 0700) < 0)
		return error_set(err, errno, RESUME_ORIGIN);
	origin = openat(child->folder, RESUME_ORIGIN,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (origin < 0)
		return error_set(err, errno, RESUME_ORIGIN);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (link_file(checkpoint, names[i], origin, names[i], err) < 0)
			return -1;
	}
	if (linkat(checkpoint, CHECKPOINT_NODES, origin, CHECKPOINT_NODES, 0) <
		    0 &&
	    errno != ENOENT)
		return error_set(err, errno, CHECKPOINT_NODES);
	return fileio_replace(child->folder, RESUME_NEXT_FILE, RESUME_ORIGIN,
			      strlen(RESUME_ORIGIN), 0600, FILEIO_SYNC, err);
}

/* What is the sandbox's and is not there yet, where the parent has it. */
static int copy_settings(const struct sandbox *parent,
			 const struct sandbox *child, struct error *err)
{
	static const char *const names[] = {
		POLICY_SET_FILE, STORE_ENV_FILE, IMAGE_COMMAND_FILE,
		MCP_HOST_KEPT,   "idle",         "keep",
		"net/ca.key",    "net/ca.crt",   "net/names",
	};

	if (mkdirat(child->folder, "net", 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "net");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_CLOSE int from = openat(parent->folder, names[i],
					     O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		AUTO_CLOSE int to = -1;
		struct stat st;

		if (from < 0 && errno == ENOENT)
			continue;
		if (from < 0 || fstat(from, &st) < 0)
			return error_set(err, errno, "%s", names[i]);
		to = openat(child->folder, names[i],
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    st.st_mode & 0777);
		if (to < 0)
			return error_set(err, errno, "%s", names[i]);
		if (fileio_copy_sparse(from, to, err) < 0)
			return error_prefix(err, "%s", names[i]);
	}
	return 0;
}

/* The same guest ports, on ports of the host that are free. */
static int own_ports(const struct store *store, struct sandbox_record *record,
		     struct error *err)
{
	struct port_list wanted = record->ports;

	record->ports = (struct port_list){ 0 };
	for (size_t i = 0; i < wanted.count; i++)
		wanted.items[i].host = 0;
	return create_ports(store, &wanted, &record->ports, err);
}

static int fill(const struct store *store, const struct sandbox *parent,
		const struct checkpoint *from, struct sandbox *child,
		struct error *err)
{
	AUTO_CLOSE int checkpoint = open_place(parent, from->label, err);
	struct plan plan = { .disk_bytes = child->record.disk_bytes };
	uid_t uid = child->record.uid;

	if (checkpoint < 0)
		return -1;
	if (mkdirat(child->folder, SANDBOX_MACHINE_FOLDER, 0700) < 0)
		return error_set(err, errno, SANDBOX_MACHINE_FOLDER);
	if (own_ports(store, &child->record, err) < 0 ||
	    sandbox_record_save(child->folder, &child->record, err) < 0 ||
	    create_disk(child, &plan, err) < 0 ||
	    share_disks(parent, checkpoint, child, err) < 0 ||
	    share_memory(from, checkpoint, child, err) < 0 ||
	    copy_settings(parent, child, err) < 0 ||
	    changes_begin(child, err) < 0)
		return -1;
	if (uid && fchownat(child->folder, SANDBOX_MACHINE_FOLDER, uid, uid,
			    AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, SANDBOX_MACHINE_FOLDER);
	return 0;
}

/* A record like the parent's, under another name and identity. */
static int copy_record(const struct store *store, const struct sandbox *parent,
		       const char *name, struct sandbox *child,
		       struct error *err)
{
	struct sandbox_record *record = &child->record;

	if (sandbox_record_load(parent->folder, record, err) < 0)
		return -1;
	free(record->name);
	record->name = xstrdup(name);
	free(record->id);
	record->id = create_id();
	record->uid = create_uid(store);
	record->remove_at_end = false;
	record->created = record->last_used = time(NULL);
	return 0;
}

/*
 * `diff` and others find an overlay by the number of the share, which is its
 * place in the record as long as nothing was unmounted since.
 */
static int check_numbers(int checkpoint, const struct sandbox_record *record,
			 struct error *err)
{
	struct sandbox then = { .folder = checkpoint };
	AUTO(json) json_t *files = files_config_load(&then, err);
	json_t *share;
	size_t i, count = 0;

	if (!files)
		return -1;
	json_array_foreach(json_object_get(files, "shares"), i, share)
	{
		const char *path =
			json_string_value(json_object_get(share, "guest_path"));

		if (i < record->shares.count && path &&
		    !strcmp(path, record->shares.items[i].guest) &&
		    !json_is_true(json_object_get(share, "gone")))
			count++;
	}
	if (count == i && i == record->shares.count)
		return 0;
	return error_set(err, 0,
			 "folders were mounted and unmounted while %s ran, so "
			 "its forks cannot keep their changes apart: "
			 "--share-workspace lets them write into the folders",
			 record->name);
}

/* Forks of one that writes to the host's folders write over them instead. */
static int keep_apart(const struct fork_source *source, struct sandbox *child,
		      struct error *err)
{
	const struct sandbox_record *record = &source->parent->record;
	AUTO_CLOSE int checkpoint = -1;

	if (source->shares_workspace || !record->shares.count ||
	    strcmp(record->mode, "direct") != 0)
		return 0;
	if (source->from->memory) {
		checkpoint =
			open_place(source->parent, source->from->label, err);
		if (checkpoint < 0 ||
		    check_numbers(checkpoint, record, err) < 0)
			return -1;
	}
	free(child->record.mode);
	child->record.mode = xstrdup("overlay");
	return 0;
}

static int make_in(struct store *store, const struct fork_source *source,
		   const char *name, struct sandbox *child, struct error *err)
{
	const struct sandbox *parent = source->parent;
	AUTO_CLOSE int lock = -1;
	AUTO_CLOSE int events = -1;
	char hidden[32];

	child->folder = create_folder(store, hidden, &lock, err);
	if (child->folder < 0)
		return -1;
	if (copy_record(store, parent, name, child, err) < 0 ||
	    keep_apart(source, child, err) < 0 ||
	    fill(store, parent, source->from, child, err) < 0 ||
	    renameat2(store->folder, hidden, store->folder, name,
		      RENAME_NOREPLACE) < 0) {
		if (!err->text[0])
			error_set(err, errno, "sandbox %s", name);
		fileio_remove_tree(store->folder, hidden, NULL);
		return -1;
	}
	events = events_open(NULL);
	events_write(events, "created", name,
		     json_pack("{s:s}", "parent", parent->record.name));
	return 0;
}

int fork_make(struct store *store, const struct fork_source *source,
	      const char *name, struct error *err)
{
	AUTO_SANDBOX struct sandbox child = SANDBOX_INIT;
	AUTO_CLOSE int lock = store_lock(store, err);

	if (lock < 0 || store_list(store, err) < 0 ||
	    sandbox_name_check(name, err) < 0)
		return -1;
	err->text[0] = '\0';
	return make_in(store, source, name, &child, err);
}

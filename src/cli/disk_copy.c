/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_copy.c - a short-lived sandbox on a copy of another's disk
 */
#include "cli/disk_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/create.h"
#include "cli/fork.h"
#include "cli/plan.h"
#include "cli/policy_set.h"
#include "cli/removal.h"

#define NAME_PREFIX "saving-"
#define ID_DIGITS 12
#define MEMORY_MIB_MAX 1024
/* One program works there: more make an emulated machine wait for itself. */
#define CPUS_MAX 1
#define RULES "preset deny-all\n"

static void take_texts_away(struct sandbox_record *record)
{
	char **texts[] = { &record->ssh_keys, &record->mode, &record->name,
			   &record->id };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
	for (size_t i = 0; record->hide && record->hide[i]; i++) {
		free(record->hide[i]);
		record->hide[i] = NULL;
	}
}

/* The same machine, smaller, with nothing of the host's. */
static int fill_record(const struct store *store, const struct sandbox *of,
		       struct sandbox_record *record, struct error *err)
{
	if (sandbox_record_load(of->folder, record, err) < 0)
		return -1;
	take_texts_away(record);
	share_list_release(&record->shares);
	record->shares = (struct share_list){ 0 };
	record->ports = (struct port_list){ 0 };
	socket_list_release(&record->sockets);
	record->sockets = (struct socket_list){ 0 };
	record->mode = xstrdup("direct");
	record->id = create_id();
	record->name = xasprintf(NAME_PREFIX "%.*s", ID_DIGITS, record->id);
	record->uid = create_uid(store);
	record->cloned = record->with_changes = record->ask = false;
	record->no_git_identity = true;
	record->remove_at_end = true;
	if (record->memory_mib > MEMORY_MIB_MAX)
		record->memory_mib = MEMORY_MIB_MAX;
	if (record->cpus > CPUS_MAX)
		record->cpus = CPUS_MAX;
	record->created = record->last_used = time(NULL);
	return 0;
}

/* Known to the disk's lists of authorities, so that it can be found there. */
static int copy_authority(const struct sandbox *of, const struct sandbox *to,
			  struct error *err)
{
	static const char *const names[] = { "net/ca.key", "net/ca.crt" };

	if (mkdirat(to->folder, "net", 0700) < 0)
		return error_set(err, errno, "net");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_CLOSE int from = openat(of->folder, names[i],
					     O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		AUTO_CLOSE int fd = -1;

		if (from < 0 && errno == ENOENT)
			continue;
		if (from < 0)
			return error_set(err, errno, "%s", names[i]);
		fd = openat(to->folder, names[i],
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    0600);
		if (fd < 0)
			return error_set(err, errno, "%s", names[i]);
		if (fileio_copy_sparse(from, fd, err) < 0)
			return error_prefix(err, "%s", names[i]);
	}
	return 0;
}

static int copy_disk(const struct sandbox *of, const struct sandbox *to,
		     struct error *err)
{
	AUTO_CLOSE int lock =
		fileio_lock(of->folder, STORE_LOCK_FILE, FILEIO_LOCK_WAIT, err);
	char layer[FORK_LAYER_NAME];

	if (lock < 0 || fork_share_layers(of, to, layer, err) < 0)
		return -1;
	return checkpoint_take_disk(of, to->folder, layer, err);
}

/* Its files may be more than the disk, for each has a head; not much more. */
static int make_spool(struct disk_copy *copy, struct error *err)
{
	copy->spool_bytes = 2 * copy->sandbox.record.disk_bytes;
	copy->spool = openat(copy->sandbox.folder, STORE_SPOOL_FILE,
			     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			     0600);
	if (copy->spool < 0 ||
	    ftruncate(copy->spool, (off_t)copy->spool_bytes) < 0)
		return error_set(err, errno, STORE_SPOOL_FILE);
	return 0;
}

static int fill(struct disk_copy *copy, const struct sandbox *of,
		struct error *err)
{
	struct sandbox *sandbox = &copy->sandbox;
	const struct sandbox_record *record = &sandbox->record;
	struct plan plan = { .disk_bytes = record->disk_bytes };

	if (mkdirat(sandbox->folder, SANDBOX_MACHINE_FOLDER, 0700) < 0)
		return error_set(err, errno, SANDBOX_MACHINE_FOLDER);
	if (sandbox_record_save(sandbox->folder, record, err) < 0 ||
	    create_disk(sandbox, &plan, err) < 0 ||
	    copy_disk(of, sandbox, err) < 0 ||
	    copy_authority(of, sandbox, err) < 0 || make_spool(copy, err) < 0 ||
	    fileio_replace(sandbox->folder, POLICY_SET_FILE, RULES,
			   strlen(RULES), 0600, 0, err) < 0)
		return -1;
	copy->owner = fileio_lock(sandbox->folder, STORE_OWNER_FILE,
				  FILEIO_LOCK_TRY, err);
	if (copy->owner < 0)
		return -1;
	if (record->uid &&
	    fchownat(sandbox->folder, SANDBOX_MACHINE_FOLDER, record->uid,
		     record->uid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, SANDBOX_MACHINE_FOLDER);
	return 0;
}

/* The global lock is not held while a disk is copied. */
static int begin(struct disk_copy *copy, const struct sandbox *of,
		 char hidden[32], int *lock, struct error *err)
{
	struct store *store = copy->store;
	AUTO_CLOSE int global = store_lock(store, err);

	if (global < 0 || store_list(store, err) < 0)
		return -1;
	copy->sandbox.folder = create_folder(store, hidden, lock, err);
	if (copy->sandbox.folder < 0)
		return -1;
	return fill_record(store, of, &copy->sandbox.record, err);
}

static int show(const struct disk_copy *copy, const char *hidden,
		struct error *err)
{
	int folder = copy->store->folder;
	AUTO_CLOSE int global = store_lock(copy->store, err);

	if (global < 0)
		return -1;
	return renameat2(folder, hidden, folder, copy->sandbox.record.name,
			 RENAME_NOREPLACE) < 0
		       ? error_set(err, errno, "%s", copy->sandbox.record.name)
		       : 0;
}

int disk_copy_make(struct disk_copy *copy, struct store *store,
		   const struct sandbox *of, struct error *err)
{
	AUTO_CLOSE int lock = -1;
	char hidden[32] = "";

	copy->store = store;
	if (begin(copy, of, hidden, &lock, err) == 0 &&
	    fill(copy, of, err) == 0 && show(copy, hidden, err) == 0)
		return 0;
	if (copy->sandbox.folder >= 0)
		fileio_remove_tree(store->folder, hidden, NULL);
	sandbox_close(&copy->sandbox);
	return -1;
}

void disk_copy_remove(struct disk_copy *copy)
{
	if (copy->sandbox.folder >= 0)
		(void)removal_of(copy->store, copy->sandbox.record.name, NULL);
	sandbox_close(&copy->sandbox);
	if (copy->owner >= 0)
		close(copy->owner);
	copy->owner = -1;
	if (copy->spool >= 0)
		close(copy->spool);
	copy->spool = -1;
}

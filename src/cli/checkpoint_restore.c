/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_restore.c - putting a checkpoint back
 */
#include "cli/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/checkpoint_internal.h"
#include "cli/resume.h"
#include "cli/store.h"
#include "state/snapshot.h"

int checkpoint_restore(const struct sandbox *sandbox,
		       const struct checkpoint *checkpoint, struct error *err)
{
	AUTO_FREE char *place =
		xasprintf("%s/%s", CHECKPOINT_FOLDER, checkpoint->label);
	AUTO_CLOSE int folder =
		checkpoint_open_dir(sandbox->folder, place, err);
	AUTO_CLOSE int machine = checkpoint_open_dir(
		sandbox->folder, SANDBOX_MACHINE_FOLDER, err);
	uid_t uid = sandbox->record.uid;

	if (folder < 0 || machine < 0)
		return -1;
	/* First of all: from here on no memory goes with the disk. */
	resume_forget(sandbox);
	if (checkpoint_copy_file(folder, SNAPSHOT_DISK, machine, "disk.new",
				 err) < 0)
		return -1;
	if (uid &&
	    fchownat(machine, "disk.new", uid, uid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "disk");
	unlinkat(sandbox->folder, STORE_FRESH_FILE, 0);
	if (renameat(machine, "disk.new", machine, "disk.qcow2") < 0 ||
	    fsync(machine) < 0)
		return error_set(err, errno, "disk");
	if (checkpoint_set_current(sandbox, checkpoint->label, err) < 0)
		return -1;
	if (!checkpoint->memory)
		return 0;
	return fileio_replace(sandbox->folder, RESUME_NEXT_FILE, place,
			      strlen(place), 0600, FILEIO_SYNC, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_removal.c - take a sandbox out of sight, then delete its files
 */
#include "state/sandbox_removal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "state/sandbox_record.h"
#include "state/secret_store.h"

void sandbox_temporary_name(char name[32])
{
	unsigned char noise[8];
	char hex[2 * sizeof(noise) + 1];

	if (getrandom(noise, sizeof(noise), 0) != sizeof(noise))
		abort();
	text_hex(noise, sizeof(noise), hex);
	text_format(name, 32, SANDBOX_TEMPORARY "%s", hex);
}

/* True when the name still leads to this folder. */
static bool still_named(int sandboxes, const char *name, int folder)
{
	struct stat named, held_one;

	return fstat(folder, &held_one) == 0 &&
	       fstatat(sandboxes, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_ino == held_one.st_ino &&
	       named.st_dev == held_one.st_dev;
}

/* What lies there is no file: nobody ever locked it. */
static bool not_a_lock(int code)
{
	return code == ELOOP || code == EISDIR || code == ENXIO;
}

/* Beside the sandboxes, by id: nobody gets them with the name. */
static void forget_secrets(int sandboxes, int folder)
{
	AUTO_CLOSE int secrets =
		openat(sandboxes, "../" SECRET_STORE_FOLDER,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct sandbox_record record = { 0 };

	if (secrets < 0 || sandbox_record_load(folder, &record, NULL) < 0)
		return;
	secret_store_forget(secrets, record.id);
	sandbox_record_release(&record);
}

int sandbox_remove_this(int sandboxes, const char *name, int folder, bool wait,
			struct error *err)
{
	AUTO_CLOSE int lock = -1, global = -1;
	struct error why = { 0 };
	char hidden[32];

	/* a start that is under way may take long: not under the global lock */
	lock = fileio_lock(folder, SANDBOX_LOCK_FILE,
			   wait ? FILEIO_LOCK_WAIT : FILEIO_LOCK_TRY, &why);
	if (lock < 0 && why.code == ENOENT)
		return 0;
	if (lock < 0 && !not_a_lock(why.code))
		return err ? (*err = why, -1) : -1;
	global = fileio_lock(sandboxes, SANDBOX_GLOBAL_LOCK, FILEIO_LOCK_WAIT,
			     err);
	if (global < 0)
		return -1;
	if (!still_named(sandboxes, name, folder))
		return 0;
	if (fileio_is_locked(folder, SANDBOX_ALIVE_FILE) == 1)
		return error_set(err, EBUSY, "sandbox %s was started again",
				 name);
	sandbox_temporary_name(hidden);
	if (renameat(sandboxes, name, sandboxes, hidden) < 0)
		return error_set(err, errno, "%s", name);
	close(TAKE_FD(global));
	forget_secrets(sandboxes, folder);
	if (fileio_remove_tree(sandboxes, hidden, err) < 0)
		return error_prefix(err, "sandbox %s", name);
	return 0;
}

int sandbox_remove(int sandboxes, const char *name, bool wait,
		   struct error *err)
{
	AUTO_CLOSE int folder =
		openat(sandboxes, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0 && errno == ENOENT)
		return 0; /* another process was faster */
	if (folder < 0)
		return error_set(err, errno, "sandbox %s", name);
	return sandbox_remove_this(sandboxes, name, folder, wait, err);
}

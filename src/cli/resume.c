/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume.c - the memory that the next start goes on with
 */
#include "cli/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/plan.h"
#include "cli/progress_view.h"
#include "cli/store.h"
#include "ipc/start_spec.h"
#include "provision/host_cpu.h"
#include "state/digest.h"

#define SUSPENDED SANDBOX_MACHINE_FOLDER "/" SNAPSHOT_SUSPENDED
/* Of the messages between bawn-init, which is in the memory, and us. */
#define PROTOCOL 2

char *resume_key(const struct plan *plan)
{
	AUTO_FREE char *host_cpu = host_cpu_model();
	AUTO_FREE char *text = xasprintf(
		"machine %d %s\nprotocol %d\nqemu %s\naccel %d\ncpu %s\n"
		"host %s\ncpus %u\nmemory %u\n",
		START_MACHINE_VERSION, plan->machine.type, PROTOCOL,
		plan->machine.identity, (int)plan->accel.use,
		machine_cpu_model(plan->accel.use), host_cpu, plan->cpus,
		plan->memory_mib);
	char *key = xmalloc(DIGEST_HEX);

	digest_bytes(text, strlen(text), key);
	return key;
}

/* The most telling first: what differs there is all that is said. */
char *resume_facts(const struct plan *plan)
{
	AUTO_FREE char *host_cpu = host_cpu_model();

	return xasprintf("QEMU: %s, build %.12s\nmachine type: %s\n"
			 "accelerator: %s\nCPU model: %s\nhost CPU: %s\n"
			 "number of CPUs: %u\nmemory size: %u MiB\n"
			 "bawn: %s, machine %d, protocol %d\n",
			 plan->machine.version, plan->machine.identity,
			 plan->machine.type,
			 plan->accel.use == START_ACCEL_KVM ? "kvm" : "tcg",
			 machine_cpu_model(plan->accel.use), host_cpu,
			 plan->cpus, plan->memory_mib, BAWN_VERSION,
			 START_MACHINE_VERSION, PROTOCOL);
}

static int open_folder(const struct sandbox *sandbox, const char *place)
{
	AUTO_CLOSE int machine = -1;

	/* machine/ was a supervisor's: no link is followed in it. */
	if (strcmp(place, SUSPENDED) != 0)
		return openat(sandbox->folder, place,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	machine = openat(sandbox->folder, SANDBOX_MACHINE_FOLDER,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return machine < 0 ? -1
			   : openat(machine, SNAPSHOT_SUSPENDED,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					    O_CLOEXEC);
}

int resume_open(const struct sandbox *sandbox, const struct resume *resume)
{
	return open_folder(sandbox, resume->place);
}

bool resume_is_suspended(const struct sandbox *sandbox)
{
	AUTO_CLOSE int folder = open_folder(sandbox, SUSPENDED);

	return folder >= 0 &&
	       faccessat(folder, SNAPSHOT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void resume_forget(const struct sandbox *sandbox)
{
	AUTO_CLOSE int machine =
		openat(sandbox->folder, SANDBOX_MACHINE_FOLDER,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	unlinkat(sandbox->folder, RESUME_NEXT_FILE, 0);
	fileio_remove_tree(sandbox->folder, RESUME_ORIGIN, NULL);
	if (machine < 0)
		return;
	fileio_remove_tree(machine, SNAPSHOT_SUSPENDED, NULL);
	fileio_remove_tree(machine, SNAPSHOT_MAKING, NULL);
}

/* The disk of a suspended machine must be as it was left. */
static int check_disk(const struct sandbox *sandbox,
		      const struct snapshot *snapshot, struct error *err)
{
	AUTO_CLOSE int fd = openat(sandbox->folder, STORE_DISK_FILE,
				   O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct snapshot_file now = { 0 };

	if (fd < 0 || snapshot_note(fd, &now, err) < 0)
		return error_set(err, errno, "disk");
	if (now.size == snapshot->disk.size &&
	    now.changed_ns == snapshot->disk.changed_ns)
		return 0;
	return snapshot_refuse(err, EBADMSG,
			       "the disk has changed since it was written");
}

static bool next_place(const struct sandbox *sandbox, char *place, size_t size)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(128);

	if (fileio_read(sandbox->folder, RESUME_NEXT_FILE, &text, NULL) < 0 ||
	    buffer_append(&text, "", 1) < 0)
		return false;
	if (checkpoint_place_ok((const char *)text.data) == 0)
		return text_copy(place, size, (const char *)text.data), true;
	return false;
}

static void say(const struct sandbox *sandbox, const char *why)
{
	progress_view_clear();
	fprintf(stderr,
		"bawn: %s: its memory cannot be used: %s; booting from its "
		"disk\n",
		sandbox->record.name, why);
}

void resume_refuse(const struct sandbox *sandbox, struct plan *plan,
		   const char *why)
{
	say(sandbox, why);
	snapshot_release(&plan->resume.snapshot);
	plan->resume.found = false;
	resume_forget(sandbox);
}

void resume_find(const struct sandbox *sandbox, struct plan *plan)
{
	struct resume *resume = &plan->resume;
	AUTO_FREE char *key = resume_key(plan);
	AUTO_FREE char *facts = resume_facts(plan);
	AUTO_CLOSE int folder = -1;
	struct error err = { 0 };

	*resume = (struct resume){ .suspended = true };
	text_copy(resume->place, sizeof(resume->place), SUSPENDED);
	if (next_place(sandbox, resume->place, sizeof(resume->place)))
		resume->suspended = false;
	folder = open_folder(sandbox, resume->place);
	if (folder < 0 && resume->suspended) {
		resume_forget(sandbox);
		return;
	}
	if (folder < 0)
		error_set(&err, errno, "%s", resume->place);
	else if (snapshot_load(folder, key, facts, &resume->snapshot, &err) ==
			 0 &&
		 (!resume->suspended ||
		  check_disk(sandbox, &resume->snapshot, &err) == 0))
		resume->found = true;
	if (resume->found)
		return;
	/* Half of one that a power cut left is nothing to speak of. */
	if (err.code != ENOENT || !resume->suspended)
		say(sandbox, err.text);
	snapshot_release(&resume->snapshot);
	resume_forget(sandbox);
}

int resume_begin(const struct sandbox *sandbox, const struct plan *plan,
		 struct error *err)
{
	if (!plan->resume.found || plan->resume.suspended)
		return 0;
	if (checkpoint_give_nodes(sandbox, plan->resume.place, err) < 0)
		return -1;
	if (unlinkat(sandbox->folder, RESUME_NEXT_FILE, 0) < 0 ||
	    fsync(sandbox->folder) < 0)
		return error_set(err, errno, RESUME_NEXT_FILE);
	return 0;
}

void resume_done(const struct sandbox *sandbox, const struct plan *plan)
{
	if (plan->resume.found && !plan->resume.suspended &&
	    strcmp(plan->resume.place, RESUME_ORIGIN) == 0)
		fileio_remove_tree(sandbox->folder, RESUME_ORIGIN, NULL);
}

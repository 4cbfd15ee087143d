/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - which QEMU, and how much of the host a sandbox may have
 */
#include "provision/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "provision/host_cpu.h"
#include "provision/records.h"
#include "state/digest.h"
#include "state/paths.h"
#include "state/sandbox_removal.h"
#include "state/sandbox_record.h"

#define QEMU_NAME "qemu-system-x86_64"
#define QEMU_CACHE "qemu.json"
#define MIB (1024ull * 1024)
#define DEFAULT_CPUS_MAX 8
#define CPUS_MAX 64
#define DEFAULT_MEMORY_MIB 4096
#define MEMORY_MIB_MIN 128
#define DEFAULT_DISK_BYTES 100000000000ull
#define DISK_BYTES_MIN (256 * MIB)
#define DISK_BYTES_MAX (16ull << 40) /* of ext4 */
#define ADMIT_PERCENT 80
/* Locked from the admission on; the supervisor's own lock comes later. */
#define ADMITTED "admitted"
#define TURN_NAP_MS 5
#define TURN_NAPS 4000 /* 20 s: somebody may have stopped a start by Ctrl-Z */

/* What tells one build from another without running it. */
static char *fingerprint(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		error_set(err, errno, "%s", path);
		return NULL;
	}
	return xasprintf("%s %llu %llu %lld %lld.%09ld", path,
			 (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, (long long)st.st_size,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static int load_cached(int cache, const char *print, struct machine *machine)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(65536);
	const char *cached, *version;
	int result = -1;
	json_t *root;

	if (fileio_read(cache, QEMU_CACHE, &text, NULL) < 0)
		return -1;
	root = json_loadb((const char *)text.data, text.len, 0, NULL);
	if (root &&
	    json_unpack(root, "{s:s, s:s}", "fingerprint", &cached, "version",
			&version) == 0 &&
	    strcmp(cached, print) == 0) {
		machine->version = xstrdup(version);
		result = 0;
	}
	json_decref(root);
	return result;
}

static void save_cached(int cache, const char *print, const char *version)
{
	json_t *root = json_pack("{s:s, s:s}", "fingerprint", print, "version",
				 version);
	AUTO_FREE char *text = json_dumps(root, JSON_INDENT(2));

	json_decref(root);
	/* Asking again next time is the worst that can happen. */
	if (text)
		fileio_replace(cache, QEMU_CACHE, text, strlen(text), 0600, 0,
			       NULL);
}

/* "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\n…" */
static int ask_version(const char *path, struct machine *machine,
		       struct error *err)
{
	static const char prefix[] = "QEMU emulator version ";
	AUTO_BUFFER struct buffer out = BUFFER_INIT(65536);
	const char *argv[] = { QEMU_NAME, "--version", NULL };
	struct child_spec spec = { .path = path,
				   .argv = argv,
				   .flags = CHILD_NULL_STDIO };
	const char *text;

	if (child_run(&spec, &out, err) < 0)
		return error_prefix(err, "%s --version", path);
	text = buffer_str(&out);
	if (!text || !text_starts(text, prefix))
		return error_set(err, 0, "%s does not say its version", path);
	text += sizeof(prefix) - 1;
	machine->version = xstrndup(text, strcspn(text, "\n"));
	return 0;
}

/* Machine types carry the release: 7.2.22 has pc-q35-7.2 as its newest. */
static int derive_type(struct machine *machine, struct error *err)
{
	size_t len = strspn(machine->version, "0123456789");

	if (len && machine->version[len] == '.')
		len += 1 + strspn(machine->version + len + 1, "0123456789");
	if (len < 3 || len > 7)
		return error_set(err, 0, "QEMU's version is unknown: %s",
				 machine->version);
	machine->type = xasprintf("pc-q35-%.*s", (int)len, machine->version);
	return 0;
}

int machine_find(struct machine *machine, struct error *err)
{
	/* without a cache QEMU is asked each time */
	AUTO_CLOSE int cache = paths_open(PATHS_CACHE, NULL, NULL);
	const char *path = child_tool(QEMU_NAME, err);
	AUTO_FREE char *print = NULL;
	AUTO_FREE char *all = NULL;

	*machine = (struct machine){ 0 };
	if (!path)
		return error_prefix(err, "install qemu-system-x86");
	print = fingerprint(path, err);
	if (!print)
		return -1;
	if (load_cached(cache, print, machine) < 0) {
		if (ask_version(path, machine, err) < 0)
			return -1;
		save_cached(cache, print, machine->version);
	}
	if (derive_type(machine, err) < 0) {
		machine_release(machine);
		return -1;
	}
	machine->qemu = xstrdup(path);
	all = xasprintf("%s %s", print, machine->version);
	machine->identity = xmalloc(DIGEST_HEX);
	digest_bytes(all, strlen(all), machine->identity);
	return 0;
}

void machine_release(struct machine *machine)
{
	free(machine->qemu);
	free(machine->version);
	free(machine->type);
	free(machine->identity);
	*machine = (struct machine){ 0 };
}

static unsigned host_cpus(void)
{
	cpu_set_t set;
	int count;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	count = CPU_COUNT(&set);
	return count > 0 ? (unsigned)count : 1;
}

static uint64_t host_memory_mib(void)
{
	struct sysinfo info = { 0 };

	sysinfo(&info);
	return (uint64_t)info.totalram * info.mem_unit / MIB;
}

int machine_check_cpus(unsigned *cpus, enum start_accel accel,
		       struct error *err)
{
	unsigned host = host_cpus();

	if (*cpus == 0) {
		*cpus = host < DEFAULT_CPUS_MAX ? host : DEFAULT_CPUS_MAX;
		return 0;
	}
	if (accel == START_ACCEL_TCG && *cpus > host)
		return error_set(err, 0,
				 "--cpus %u: this machine has %u, and without "
				 "KVM a sandbox cannot have more",
				 *cpus, host);
	if (*cpus > CPUS_MAX)
		return error_set(err, 0, "--cpus %u: at most %u", *cpus,
				 CPUS_MAX);
	return 0;
}

int machine_check_memory(unsigned *memory_mib, struct error *err)
{
	uint64_t host = host_memory_mib();

	if (*memory_mib == 0) {
		*memory_mib = host / 2 < DEFAULT_MEMORY_MIB
				      ? (unsigned)(host / 2)
				      : DEFAULT_MEMORY_MIB;
		return 0;
	}
	if (*memory_mib < MEMORY_MIB_MIN)
		return error_set(err, 0, "--memory %uM: at least %uM",
				 *memory_mib, MEMORY_MIB_MIN);
	if (*memory_mib > host * ADMIT_PERCENT / 100)
		return error_set(err, 0,
				 "--memory %uM: this machine has %lluM, of "
				 "which sandboxes may have %llu %%",
				 *memory_mib, (unsigned long long)host,
				 (unsigned long long)ADMIT_PERCENT);
	return 0;
}

int machine_check_disk(uint64_t *disk_bytes, struct error *err)
{
	if (*disk_bytes == 0)
		*disk_bytes = DEFAULT_DISK_BYTES;
	if (*disk_bytes < DISK_BYTES_MIN)
		return error_set(err, 0, "--disk %lluM: at least %lluM",
				 (unsigned long long)(*disk_bytes / MIB),
				 (unsigned long long)(DISK_BYTES_MIN / MIB));
	if (*disk_bytes > DISK_BYTES_MAX)
		return error_set(err, 0, "--disk %lluG: at most %lluG",
				 (unsigned long long)(*disk_bytes >> 30),
				 (unsigned long long)(DISK_BYTES_MAX >> 30));
	*disk_bytes = (*disk_bytes + MIB - 1) / MIB * MIB;
	return 0;
}

struct used {
	uint64_t memory_mib;
	unsigned count;
};

static void add_used(void *ctx, const struct sandbox_record *record, int folder)
{
	struct used *used = ctx;

	if (!record || (fileio_is_locked(folder, SANDBOX_ALIVE_FILE) != 1 &&
			fileio_is_locked(folder, ADMITTED) != 1))
		return;
	used->memory_mib += record->memory_mib;
	used->count++;
}

static int check_room(unsigned memory_mib, struct error *err)
{
	uint64_t limit = host_memory_mib() * ADMIT_PERCENT / 100;
	struct used used = { 0 };

	if (records_each(add_used, &used, err) < 0)
		return -1;
	if (used.memory_mib + memory_mib <= limit)
		return 0;
	return error_say(err, ENOMEM,
			 "%u running sandboxes have %lluM of memory; with %uM "
			 "more they would have over %d %% of this machine's "
			 "%lluM: stop one, or ask for less with -m",
			 used.count, (unsigned long long)used.memory_mib,
			 memory_mib, ADMIT_PERCENT,
			 (unsigned long long)host_memory_mib());
}

int machine_admit(int folder, unsigned memory_mib, struct error *err)
{
	AUTO_CLOSE int all = paths_open(PATHS_STATE, "sandboxes", err);
	AUTO_CLOSE int turn = -1;

	if (all < 0)
		return -1;
	/* one at a time, or twenty starts would all find the same room */
	turn = fileio_lock(all, ".admission", FILEIO_LOCK_WAIT, err);
	if (turn < 0 || check_room(memory_mib, err) < 0)
		return -1;
	return fileio_lock(folder, ADMITTED, FILEIO_LOCK_TRY, err);
}

static int free_place(int folder, long places)
{
	for (long i = 0; i < places; i++) {
		char name[32];
		int fd;

		text_format(name, sizeof(name), ".starting-%ld", i);
		fd = fileio_lock(folder, name, FILEIO_LOCK_TRY, NULL);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int machine_take_turn(void)
{
	AUTO_CLOSE int folder = paths_open(PATHS_STATE, "sandboxes", NULL);
	const struct timespec nap = { .tv_nsec = TURN_NAP_MS * 1000000L };
	long places = 1 + sysconf(_SC_NPROCESSORS_ONLN);
	int place = -1;

	for (int i = 0; folder >= 0 && i < TURN_NAPS; i++) {
		place = free_place(folder, places);
		if (place >= 0)
			break;
		nanosleep(&nap, NULL);
	}
	return place;
}

const char *machine_cpu_model(enum start_accel accel)
{
	/*
	 * TCG pays for what a real CPU gives away: la57 costs a table walk
	 * more, smap ends a translation block at each copy to or from a
	 * program, pcid and invpcid flush what is flushed anyway, and xsaves
	 * and pku lengthen every switch of tasks. None of them is a boundary
	 * that we rely on, and no program asks for them. With erms the guest's
	 * kernel copies and clears with `rep movsb`, which TCG executes byte
	 * by byte: six to eight times slower than by words.
	 */
	return accel == START_ACCEL_KVM
		       ? "host"
		       : "max,la57=off,smap=off,smep=off,umip=off,pku=off,"
			 "pcid=off,invpcid=off,xsaves=off,erms=off";
}

/*
 * A kernel that oopsed and went on has locks and journals that nobody will ever
 * release: what needs them hangs for good, and no deadline of ours sees it. So
 * it ends its machine, and the user hears of it.
 *
 * Under TCG address randomisation defeats the translation cache, and there is
 * no speculation to mitigate. Clearing every page and checking every copy
 * costs it as much as the work itself; the guest's kernel is not the boundary.
 * To count each name and inode for its session is more than a tenth of
 * unpacking an archive, and into an overlay so is to look in each function
 * whether somebody else should run, and to free there what others have done
 * with: a thread of the kernel's frees it on whichever CPU is idle. Of the
 * security modules those stay that programs use for themselves.
 */
const char *machine_kernel_args_fixed(enum start_accel accel)
{
	if (accel == START_ACCEL_KVM)
		return "console=ttyS0 oops=panic panic=-1 reboot=t quiet";
	return "console=ttyS0 oops=panic panic=-1 reboot=t quiet norandmaps "
	       "mitigations=off no_timer_check init_on_alloc=0 "
	       "cgroup.memory=nokmem "
	       "hardened_usercopy=off randomize_kstack_offset=off "
	       "lsm=landlock,yama psi=0 audit=0 nowatchdog preempt=none "
	       "rcu_nocbs=all rcupdate.rcu_expedited=1";
}

/*
 * Under TCG the guest's time stamp counter is the host's, the same on all
 * CPUs. Left to itself the kernel finds it unsynchronised and reads the HPET,
 * an emulated device, for each look at the clock; and its own calibration was
 * seen to be off by a thousandth on a busy host until it was refined.
 */
const char *machine_kernel_args(enum start_accel accel)
{
	static char text[512];
	const char *fixed = machine_kernel_args_fixed(accel);
	unsigned khz = accel == START_ACCEL_TCG ? host_cpu_tsc_khz() : 0;

	if (!khz)
		return fixed;
	text_format(text, sizeof(text), "%s tsc=reliable tsc_early_khz=%u",
		    fixed, khz);
	return text;
}

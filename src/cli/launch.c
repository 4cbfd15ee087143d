/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - start the supervisor's process (PROTOCOL.md §7)
 */
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/authority.h"
#include "cli/files_config.h"
#include "cli/fork.h"
#include "cli/git_identity.h"
#include "cli/idle.h"
#include "cli/net_config.h"
#include "cli/plan.h"
#include "cli/store.h"
#include "ipc/control.h"
#include "ipc/start_spec.h"
#include "state/paths.h"

#define SUPERVISOR_FD 3
#define BOOT_TIMEOUT_TCG_MS 120000
#define BOOT_TIMEOUT_KVM_MS 20000
#define RESTORE_TIMEOUT_MS 30000

/* All that a supervisor gets to know of our environment. */
static const char *const passed_on[] = {
	"HOME",           "BAWN_HOME",     "BAWN_SYSTEM_DIR", "XDG_STATE_HOME",
	"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME",
};

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(spec, struct start_spec *, start_spec_release)

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static int add_disks(const struct sandbox *sandbox, const struct plan *plan,
		     struct start_spec *spec, struct error *err)
{
	const char *warm_key = sandbox->record.warm_key;
	AUTO_FREE char *sub = NULL;

	spec->disks[spec->disk_count++] =
		xasprintf("%s/%s", spec->folder, STORE_DISK_FILE);
	if (fork_add_layers(sandbox, spec, err) < 0)
		return -1;
	if (warm_key) {
		char *disk;

		/* its memory may be damaged or gone: the disk is what counts */
		sub = xasprintf("warm/%s/disk.qcow2", warm_key);
		disk = paths_of(PATHS_DATA, sub, err);
		if (!disk)
			return -1;
		spec->disks[spec->disk_count++] = disk;
		if (access(disk, F_OK) < 0)
			return error_set(err, errno, "%s", disk);
	}
	spec->disks[spec->disk_count++] = copy(plan->template.disk);
	return 0;
}

static void add_spool(const struct sandbox *sandbox, struct start_spec *spec)
{
	if (faccessat(sandbox->folder, STORE_SPOOL_FILE, F_OK,
		      AT_SYMLINK_NOFOLLOW) == 0)
		spec->spool = xasprintf("%s/" STORE_SPOOL_FILE, spec->folder);
}

static void set_restore(const struct plan *plan, struct start_spec *spec)
{
	spec->goal = START_RESTORE;
	spec->ram = copy(plan->warm.ram);
	spec->device_state = copy(plan->warm.device_state);
	spec->marker = copy(plan->warm.marker);
	spec->machine = copy(plan->warm.machine);
	spec->cpu = copy(plan->warm.cpu);
	spec->boot_timeout_ms = RESTORE_TIMEOUT_MS;
}

/* machine/suspended is the supervisor's to open: it follows no link there. */
static void set_resume(const struct plan *plan, struct start_spec *spec)
{
	const struct resume *resume = &plan->resume;
	const struct snapshot *snapshot = &resume->snapshot;

	spec->goal = START_RESTORE;
	spec->consume = resume->suspended;
	spec->ram = xasprintf("%s/%s/%s", spec->folder, resume->place,
			      SNAPSHOT_RAM);
	spec->device_state = xasprintf("%s/%s/%s", spec->folder, resume->place,
				       SNAPSHOT_STATE);
	spec->marker = copy(snapshot->marker);
	spec->machine = copy(snapshot->machine);
	spec->cpu = copy(snapshot->cpu);
	spec->sessions = json_dumps(snapshot->sessions, JSON_COMPACT);
	spec->boot_timeout_ms = RESTORE_TIMEOUT_MS;
}

static void set_boot(const struct plan *plan, struct start_spec *spec)
{
	spec->goal = START_COLD;
	spec->kernel = copy(plan->kernel.vmlinux);
	spec->initramfs = copy(plan->kernel.initramfs);
	spec->append = copy(machine_kernel_args(plan->accel.use));
	spec->machine = copy(plan->machine.type);
	spec->cpu = copy(machine_cpu_model(plan->accel.use));
	spec->boot_timeout_ms = plan->accel.use == START_ACCEL_KVM
					? BOOT_TIMEOUT_KVM_MS
					: BOOT_TIMEOUT_TCG_MS;
}

/*
 * A memory that goes on knows its folders by number: what was shared then keeps
 * its own, whatever was mounted since.
 */
static json_t *follow_shares(const struct sandbox *sandbox,
			     const struct resume *resume, struct error *err)
{
	AUTO_CLOSE int folder = resume_open(sandbox, resume);
	struct sandbox then = { .folder = resume->suspended ? sandbox->folder
							    : folder };
	AUTO(json) json_t *shares = files_config_load(&then, err);

	return shares ? files_config_follow(&sandbox->record, shares, err)
		      : NULL;
}

static int add_files(const struct sandbox *sandbox, const struct plan *plan,
		     struct start_spec *spec, struct error *err)
{
	AUTO(json) json_t *files = NULL;

	/* The builder of templates shares nothing. */
	if (!sandbox->record.shares.count)
		return 0;
	files = plan->resume.found ? follow_shares(sandbox, &plan->resume, err)
				   : files_config_make(&sandbox->record, err);
	if (!files || files_config_save(sandbox, files, err) < 0)
		return -1;
	spec->files = json_dumps(files, JSON_COMPACT);
	spec->shares =
		(unsigned)json_array_size(json_object_get(files, "shares"));
	return 0;
}

static int add_net(const struct sandbox *sandbox, struct start_spec *spec,
		   struct error *err)
{
	AUTO(json) json_t *net = net_config_start(sandbox, err);

	if (!net)
		return -1;
	spec->net = json_dumps(net, JSON_COMPACT);
	spec->authority = authority_ensure(sandbox, err);
	return spec->authority ? 0 : -1;
}

/*
 * Who commits; and that what a repository keeps for its linked work trees stays
 * when a git inside tidies up: it cannot see those that the host made since.
 */
static char *git_settings(const struct sandbox_record *record)
{
	AUTO_FREE char *identity =
		record->no_git_identity ? xstrdup("") : git_identity_load();

	return xasprintf("%s%s", identity,
			 record->shares.count
				 ? "[gc]\n\tworktreePruneExpire = never\n"
				 : "");
}

static int fill(const struct sandbox *sandbox, const struct plan *plan,
		struct start_spec *spec, struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;
	AUTO_FREE char *sub = xasprintf("sandboxes/%s", record->name);

	spec->accel = plan->accel.use;
	spec->name = copy(record->name);
	spec->id = copy(record->id);
	spec->qemu = copy(plan->machine.qemu);
	spec->folder = paths_of(PATHS_STATE, sub, err);
	spec->ram_shim = paths_helper("bawn-ramshim.so", err);
	if (!spec->folder || !spec->ram_shim)
		return -1;
	spec->cpus = plan->cpus;
	spec->memory_mib = plan->memory_mib;
	spec->uid = record->uid;
	spec->gid = (gid_t)record->uid;
	spec->remove_at_end = record->remove_at_end;
	spec->agent_once = record->remove_at_end;
	spec->git = git_settings(record);
	spec->idle_s = idle_load(sandbox->folder);
	if (add_files(sandbox, plan, spec, err) < 0 ||
	    add_net(sandbox, spec, err) < 0)
		return -1;
	spec->key = resume_key(plan);
	spec->facts = resume_facts(plan);
	if (plan->resume.found)
		set_resume(plan, spec);
	else if (plan->warm.key)
		set_restore(plan, spec);
	else
		set_boot(plan, spec);
	if (spec->goal == START_COLD)
		add_spool(sandbox, spec);
	return add_disks(sandbox, plan, spec, err);
}

static void make_environment(const char *env[ARRAY_SIZE(passed_on) + 1],
			     char *texts[ARRAY_SIZE(passed_on)])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++) {
		const char *value = getenv(passed_on[i]);

		if (!value)
			continue;
		texts[n] = xasprintf("%s=%s", passed_on[i], value);
		env[n] = texts[n];
		n++;
	}
	env[n] = NULL;
}

static int spawn(const char *name, int connection, struct error *err)
{
	AUTO_FREE char *path = paths_helper("bawn-supervisor", err);
	const char *argv[] = { "bawn-supervisor", name, NULL };
	const char *env[ARRAY_SIZE(passed_on) + 1];
	char *texts[ARRAY_SIZE(passed_on)] = { NULL };
	struct child_fd fd = { connection, SUPERVISOR_FD };
	struct child_spec spec = { .path = path,
				   .argv = argv,
				   .env = env,
				   .fds = &fd,
				   .fd_count = 1,
				   .flags = CHILD_NEW_SESSION |
					    CHILD_NULL_STDIO };
	struct child child;
	int failed;

	if (!path)
		return -1;
	make_environment(env, texts);
	failed = child_spawn(&spec, &child, err);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	/* it outlives us: nobody waits for it here */
	if (!failed)
		close(child.pidfd);
	return failed;
}

int launch_supervisor(const struct sandbox *sandbox, const struct plan *plan,
		      struct control_client *control, struct error *err)
{
	struct start_spec content = { 0 };
	AUTO(spec) struct start_spec *spec = &content;
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *line = NULL;
	AUTO_CLOSE int ours = -1;
	AUTO_CLOSE int theirs = -1;
	int pair[2];

	if (fill(sandbox, plan, spec, err) < 0)
		return -1;
	text = start_spec_encode(spec);
	if (!text)
		return error_set(err, EILSEQ, "a path is not UTF-8");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "socketpair");
	ours = pair[0];
	theirs = pair[1];
	if (spawn(sandbox->record.name, theirs, err) < 0)
		return -1;
	line = xasprintf("%s\n", text);
	if (fileio_write_all(ours, line, strlen(line), err) < 0)
		return error_prefix(err, "bawn-supervisor");
	control_client_init(control, TAKE_FD(ours));
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.c - make the folder of a new sandbox
 *
 * Everything is written into ".tmp-…" under the global lock and renamed at
 * the end: another command sees a whole sandbox or none. What takes long (the
 * plan) was done before, without the lock.
 */
#include "cli/create.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/authority.h"
#include "cli/changes.h"
#include "cli/image_command.h"
#include "cli/plan.h"
#include "cli/policy_set.h"
#include "cli/port_spec.h"
#include "cli/request.h"
#include "cli/store.h"
#include "cli/variables.h"
#include "provision/qcow2.h"
#include "state/events.h"

/* Sandboxes of root have a uid each, from here on. */
#define FIRST_UID 0x70000000u
#define ID_BYTES 16
#define CHOICES 20

char *create_id(void)
{
	unsigned char noise[ID_BYTES];
	char *id = xmalloc(2 * ID_BYTES + 1);

	if (getrandom(noise, sizeof(noise), 0) != sizeof(noise))
		abort();
	text_hex(noise, sizeof(noise), id);
	return id;
}

static bool uid_taken(const struct store *store, uid_t uid)
{
	bool found = false;

	for (size_t i = 0; i < store->count && !found; i++) {
		char path[SANDBOX_NAME_MAX + 16];
		struct stat st;

		/* the machine belongs to it, whatever the record says */
		found = text_format(path, sizeof(path), "%s/%s",
				    store->names[i],
				    SANDBOX_MACHINE_FOLDER) == 0 &&
			fstatat(store->folder, path, &st,
				AT_SYMLINK_NOFOLLOW) == 0 &&
			st.st_uid == uid;
	}
	return found;
}

uid_t create_uid(const struct store *store)
{
	uid_t uid = FIRST_UID;

	if (geteuid() != 0)
		return 0;
	while (uid_taken(store, uid))
		uid++;
	return uid;
}

static char **copy_list(char *const *list)
{
	size_t n = 0;
	char **copy;

	while (list && list[n])
		n++;
	copy = xcalloc(n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(list[i]);
	return copy;
}

static char *copy_or_null(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void fill_record(const struct store *store,
			const struct request *request, const struct plan *plan,
			const char *name, struct sandbox_record *record)
{
	*record = (struct sandbox_record){
		.name = xstrdup(name),
		.id = create_id(),
		.agent = xstrdup(request_agent(request)),
		.mode = xstrdup(request->mode ? request->mode
					      : REQUEST_DEFAULT_MODE),
		.with_changes = request->with_changes,
		.hide = copy_list(request->hide),
		.quota_bytes = request->quota_bytes,
		.quota_inodes = request->quota_inodes,
		.template_name = xstrdup(plan->template.name),
		.template_id = xstrdup(plan->template.id),
		.warm_key = copy_or_null(plan->warm.key),
		.kernel_key = copy_or_null(plan->kernel.key),
		.machine = copy_or_null(plan->machine.type),
		.cpu = xstrdup(machine_cpu_model(plan->accel.use)),
		.accel = xstrdup(request->accel ? request->accel : "auto"),
		.isolation = xstrdup("microvm"),
		.cpus = plan->cpus,
		.memory_mib = plan->memory_mib,
		.disk_bytes = plan->disk_bytes,
		.ask = request->ask,
		.no_git_identity = request->no_git_identity,
		.ssh_keys = copy_or_null(request->ssh_keys),
		.uid = create_uid(store),
		.remove_at_end = request->remove_at_end,
		.created = time(NULL),
		.last_used = time(NULL),
	};
	share_list_copy(&record->shares, &request->shares);
	socket_list_copy(&record->sockets, &request->sockets);
}

static bool port_taken(const struct store *store,
		       const struct port_record *port)
{
	bool found = false;

	for (size_t i = 0; i < store->count && !found; i++) {
		AUTO_SANDBOX struct sandbox one = SANDBOX_INIT;

		found = store_find(store, store->names[i], &one, NULL) == 0 &&
			port_list_find(&one.record.ports, port->address,
				       port->host);
	}
	return found;
}

int create_ports(const struct store *store, const struct port_list *wanted,
		 struct port_list *list, struct error *err)
{
	for (size_t i = 0; i < wanted->count; i++) {
		struct port_record port = wanted->items[i];
		bool chosen = !port.host;

		/* of those that are free now, one that no other one waits for
		 */
		for (int try = 0; chosen && try < CHOICES; try++) {
			port.host = 0;
			if (port_spec_choose(&port, err) < 0)
				return -1;
			if (!port_taken(store, &port))
				break;
		}
		if (port_list_add(list, &port) < 0)
			return error_set(err, EEXIST,
					 "port %u of the host's %s", port.host,
					 port.address);
	}
	return 0;
}

static int write_policy(const struct sandbox *sandbox, struct buffer *text,
			struct error *err)
{
	if (!text->len)
		return 0;
	return fileio_replace(sandbox->folder, POLICY_SET_FILE, text->data,
			      text->len, 0600, FILEIO_SYNC, err);
}

int create_disk(const struct sandbox *sandbox, const struct plan *plan,
		struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;
	AUTO_CLOSE int fd = openat(
		sandbox->folder, STORE_DISK_FILE,
		O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_set(err, errno, STORE_DISK_FILE);
	if (qcow2_create(fd, plan->disk_bytes, err) < 0)
		return error_prefix(err, STORE_DISK_FILE);
	if (record->uid && fchown(fd, record->uid, record->uid) < 0)
		return error_set(err, errno, STORE_DISK_FILE);
	return 0;
}

static int touch(int folder, const char *name, struct error *err)
{
	AUTO_CLOSE int fd =
		openat(folder, name,
		       O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd >= 0 ? 0 : error_set(err, errno, "%s", name);
}

/* An agent that was named is run, whatever the image's own command is. */
static int keep_image(const struct sandbox *sandbox,
		      const struct request *request, const struct plan *plan,
		      struct error *err)
{
	const struct image *image = plan->template.image;
	struct image_command command = { .is_agent = false };

	if (!image)
		return 0;
	command.run = image->run;
	command.is_agent = !request->agent &&
			   (image->run.entrypoint[0] || image->run.command[0]);
	return image_command_save(sandbox->folder, &command, err);
}

static int fill_folder(const struct sandbox *sandbox,
		       const struct request *request, const struct plan *plan,
		       const json_t *variables, struct created *created,
		       struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;

	if (mkdirat(sandbox->folder, SANDBOX_MACHINE_FOLDER, 0700) < 0)
		return error_set(err, errno, SANDBOX_MACHINE_FOLDER);
	if (sandbox_record_save(sandbox->folder, record, err) < 0 ||
	    create_disk(sandbox, plan, err) < 0 ||
	    keep_image(sandbox, request, plan, err) < 0 ||
	    touch(sandbox->folder, STORE_FRESH_FILE, err) < 0 ||
	    changes_begin(sandbox, err) < 0)
		return -1;
	if (json_object_size(variables) &&
	    variables_save(sandbox->folder, variables, err) < 0)
		return -1;
	if (record->remove_at_end) {
		created->owner = fileio_lock(sandbox->folder, STORE_OWNER_FILE,
					     FILEIO_LOCK_TRY, err);
		if (created->owner < 0)
			return -1;
	}
	/* nothing else: the record stays root's */
	if (record->uid &&
	    fchownat(sandbox->folder, SANDBOX_MACHINE_FOLDER, record->uid,
		     record->uid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "%s", record->name);
	return 0;
}

int create_folder(const struct store *store, char hidden[32], int *lock,
		  struct error *err)
{
	AUTO_CLOSE int folder = -1;

	sandbox_temporary_name(hidden);
	if (mkdirat(store->folder, hidden, 0700) < 0)
		return error_set(err, errno, "sandboxes");
	folder = openat(store->folder, hidden,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return error_set(err, errno, "sandboxes");
	*lock = fileio_lock(folder, STORE_LOCK_FILE, FILEIO_LOCK_TRY, err);
	return *lock < 0 ? -1 : TAKE_FD(folder);
}

static void announce(const struct sandbox *sandbox)
{
	AUTO_CLOSE int events = events_open(NULL);

	events_write(events, "created", sandbox->record.name,
		     json_pack("{s:s, s:s}", "agent", sandbox->record.agent,
			       "template", sandbox->record.template_name));
}

static int make(const struct store *store, const struct request *request,
		const struct plan *plan, const json_t *variables,
		struct sandbox *sandbox, struct created *created,
		struct error *err)
{
	AUTO_FREE char *name = request_new_name(request, store, err);
	AUTO_BUFFER struct buffer policy = BUFFER_INIT(POLICY_SET_TEXT_MAX);
	AUTO_CLOSE int lock = -1;
	struct child maker;
	char hidden[32];
	int failed;

	if (!name)
		return -1;
	*sandbox = SANDBOX_INIT;
	sandbox->folder = create_folder(store, hidden, &lock, err);
	if (sandbox->folder < 0)
		return -1;
	fill_record(store, request, plan, name, &sandbox->record);
	authority_begin(sandbox, &maker);
	failed = create_ports(store, &request->ports, &sandbox->record.ports,
			      err);
	if (!failed)
		failed = request_policy(request, store, &policy, err);
	if (!failed)
		failed = write_policy(sandbox, &policy, err);
	if (!failed)
		failed = fill_folder(sandbox, request, plan, variables, created,
				     err);
	authority_wait(&maker);
	if (!failed && renameat2(store->folder, hidden, store->folder, name,
				 RENAME_NOREPLACE) < 0)
		failed = error_set(err, errno, "sandbox %s", name);
	if (failed) {
		fileio_remove_tree(store->folder, hidden, NULL);
		return -1;
	}
	created->is_new = true;
	announce(sandbox);
	return 0;
}

int create_sandbox(struct store *store, const struct request *request,
		   const struct plan *plan, const json_t *variables,
		   struct sandbox *sandbox, struct created *created,
		   struct error *err)
{
	AUTO_CLOSE int lock = -1;
	int found;

	*created = (struct created){ .owner = -1 };
	lock = store_lock(store, err);
	if (lock < 0 || store_list(store, err) < 0)
		return -1;
	/* somebody may have made it while we prepared */
	found = request_find(request, store, sandbox, err);
	if (found != 0) {
		if (found < 0)
			sandbox_close(sandbox);
		return found < 0 ? -1 : 0;
	}
	if (make(store, request, plan, variables, sandbox, created, err) == 0)
		return 0;
	sandbox_close(sandbox);
	if (created->owner >= 0)
		close(created->owner);
	created->owner = -1;
	return -1;
}

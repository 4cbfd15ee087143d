/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_keys.c - the ssh host keys of a machine are its own
 */
#include "guest/host_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/slice.h"
#include "guest/sysfile.h"

#define FOLDER "/etc/ssh"
#define STAMP "user.bawn.machine-id"
#define KEYGEN "/usr/bin/ssh-keygen"
#define PID_FILE "/run/sshd.pid"
#define HEX_BYTES (2 * HOST_KEYS_ID_BYTES)

/* The fastest one first: it is the one that clients prefer, too. */
static const char *const types[] = { "ed25519", "ecdsa", "rsa" };

static void key_path(const struct host_keys *keys, size_t type,
		     const char *suffix, char path[PATH_MAX])
{
	text_format(path, PATH_MAX, "%s" FOLDER "/ssh_host_%s_key%s",
		    keys->root, types[type], suffix);
}

/* One bit a type. */
static unsigned find(const struct host_keys *keys)
{
	char path[PATH_MAX];
	unsigned found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		key_path(keys, i, "", path);
		if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			found |= 1u << i;
	}
	return found;
}

static void stamp(const struct host_keys *keys)
{
	char folder[PATH_MAX], hex[HEX_BYTES + 1];

	text_format(folder, sizeof(folder), "%s" FOLDER, keys->root);
	text_hex(keys->id, sizeof(keys->id), hex);
	if (setxattr(folder, STAMP, hex, HEX_BYTES, 0) < 0)
		log_debug("%s: %s", folder, strerror(errno));
}

static bool is_stamped(const struct host_keys *keys,
		       const uint8_t id[HOST_KEYS_ID_BYTES])
{
	char folder[PATH_MAX], hex[HEX_BYTES + 1], noted[HEX_BYTES];

	text_format(folder, sizeof(folder), "%s" FOLDER, keys->root);
	text_hex(id, HOST_KEYS_ID_BYTES, hex);
	return getxattr(folder, STAMP, noted, sizeof(noted)) == HEX_BYTES &&
	       !memcmp(noted, hex, HEX_BYTES);
}

static void remove_keys(const struct host_keys *keys, unsigned found)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (!(found & 1u << i))
			continue;
		key_path(keys, i, "", path);
		if (unlink(path) < 0 && errno != ENOENT)
			log_warn("%s: %s", path, strerror(errno));
		key_path(keys, i, ".pub", path);
		unlink(path);
	}
}

/* In the maker. */
static void make_key(const struct host_keys *keys, const char *keygen,
		     size_t type)
{
	char path[PATH_MAX];
	pid_t pid;

	key_path(keys, type, "", path);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int fd = 0; null >= 0 && fd < 3; fd++)
			dup2(null, fd);
		execl(keygen, keygen, "-q", "-N", "", "-t", types[type], "-f",
		      path, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool first_line(const char *path, char *text, size_t size,
		       struct slice *line)
{
	struct slice rest;

	if (sysfile_read(AT_FDCWD, path, text, size) <= 0)
		return false;
	rest = slice_of(text);
	return slice_line(&rest, line);
}

/* In the maker: it reads its keys when it starts, and when it is told. */
static void tell_sshd(void)
{
	char text[32], path[64];
	struct slice line;
	uint64_t pid;

	if (!first_line(PID_FILE, text, sizeof(text), &line) ||
	    slice_number(line, INT_MAX, &pid))
		return;
	text_format(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (first_line(path, text, sizeof(text), &line) &&
	    slice_equals(line, "sshd"))
		kill((pid_t)pid, SIGHUP);
}

static _Noreturn void be_maker(const struct host_keys *keys, const char *keygen,
			       unsigned found)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* A key that is half made belongs to the machine that began it. */
	setpgid(0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (found & 1u << i)
			make_key(keys, keygen, i);
	}
	if (!keys->root[0])
		tell_sshd();
	_exit(0);
}

static void renew(struct host_keys *keys, unsigned found)
{
	char keygen[PATH_MAX];

	text_format(keygen, sizeof(keygen), "%s" KEYGEN, keys->root);
	if (faccessat(AT_FDCWD, keygen, X_OK, 0) < 0) {
		log_warn("the ssh host keys are another machine's: no "
			 "ssh-keygen");
		return;
	}
	remove_keys(keys, found);
	stamp(keys);
	keys->maker = fork();
	keys->making = found;
	if (keys->maker == 0)
		be_maker(keys, keygen, found);
	if (keys->maker < 0) {
		log_warn("ssh host keys: %s", strerror(errno));
		keys->maker = 0;
		return;
	}
	setpgid(keys->maker, keys->maker);
}

void host_keys_note(struct host_keys *keys)
{
	if (!keys->woken)
		return;
	keys->any = find(keys) != 0;
	if (keys->any && !is_stamped(keys, keys->id))
		stamp(keys);
}

void host_keys_wake(struct host_keys *keys,
		    const uint8_t id[HOST_KEYS_ID_BYTES])
{
	bool changed = keys->woken && memcmp(keys->id, id, sizeof(keys->id));
	bool booted = !keys->woken;
	unsigned found = 0, making = 0;

	memcpy(keys->id, id, sizeof(keys->id));
	keys->woken = true;
	if (changed && keys->maker > 0) {
		kill(-keys->maker, SIGKILL);
		making = keys->making;
	}
	/* A wake costs nothing where there are none. */
	if ((changed && keys->any) || (booted && !is_stamped(keys, id)))
		found = find(keys);
	if (found | making)
		renew(keys, found | making);
}

bool host_keys_on_exit(struct host_keys *keys, pid_t pid)
{
	if (pid <= 0 || pid != keys->maker)
		return false;
	keys->maker = 0;
	return true;
}

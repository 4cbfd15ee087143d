/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c - what makes one clone of a machine differ from the next
 */
#include "guest/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/net_link.h"
#include "proto/messages.h"

static const struct {
	const char *held, *shown;
} paths[] = {
	[IDENTITY_HOSTNAME] = { "/run/bawn/hostname", "/etc/hostname" },
	[IDENTITY_HOSTS] = { "/run/bawn/hosts", "/etc/hosts" },
	[IDENTITY_MACHINE_ID] = { "/run/bawn/machine-id", "/etc/machine-id" },
	[IDENTITY_RESOLV] = { "/run/bawn/resolv.conf", "/etc/resolv.conf" },
};
_Static_assert(ARRAY_SIZE(paths) == IDENTITY_FILES, "a path for each file");

int identity_check_hostname(const char *hostname)
{
	size_t len = strlen(hostname);

	if (len == 0 || len > 64)
		return -1;
	for (size_t i = 0; i < len; i++) {
		char c = hostname[i];
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '.' ||
			    c == '_';

		if (!fine)
			return -1;
	}
	return 0;
}

static void rewrite(struct identity *identity, enum identity_file file,
		    const char *text)
{
	int fd = identity->files[file];
	size_t len = strlen(text);

	if (pwrite(fd, text, len, 0) != (ssize_t)len ||
	    ftruncate(fd, (off_t)len))
		log_warn("identity file: %s", strerror(errno));
}

/*
 * A link would take the mount somewhere else, often to a place that does not
 * exist yet; the disk is the sandbox's own, so the link makes way for a file.
 */
static int make_mount_point(const char *path, struct error *err)
{
	struct stat st;
	AUTO_CLOSE int fd = -1;

	if (lstat(path, &st) == 0) {
		if (S_ISREG(st.st_mode))
			return 0;
		if (S_ISDIR(st.st_mode))
			return error_set(err, EISDIR, "%s", path);
		unlink(path);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd < 0 ? error_set(err, errno, "%s", path) : 0;
}

static int show_file(enum identity_file file, struct error *err)
{
	if (make_mount_point(paths[file].shown, err))
		return -1;
	if (mount(paths[file].held, paths[file].shown, NULL, MS_BIND, NULL))
		return error_set(err, errno, "%s", paths[file].shown);
	return 0;
}

static void set_hostname(struct identity *identity, const char *hostname)
{
	char text[256];

	/* The user may have added hosts: keep them unless the name changes. */
	if (!strcmp(identity->hostname, hostname))
		return;
	text_copy(identity->hostname, sizeof(identity->hostname), hostname);
	if (sethostname(hostname, strlen(hostname)))
		log_warn("hostname: %s", strerror(errno));
	text_format(text, sizeof(text), "%s\n", hostname);
	rewrite(identity, IDENTITY_HOSTNAME, text);
	text_format(text, sizeof(text),
		    "127.0.0.1\tlocalhost\n"
		    "::1\tlocalhost ip6-localhost ip6-loopback\n"
		    "127.0.1.1\t%s\n",
		    hostname);
	rewrite(identity, IDENTITY_HOSTS, text);
}

static void set_machine_id(struct identity *identity,
			   const uint8_t id[MESSAGE_ID_BYTES])
{
	char text[2 * MESSAGE_ID_BYTES + 2];

	text_hex(id, MESSAGE_ID_BYTES, text);
	text[2 * MESSAGE_ID_BYTES] = '\n';
	text[2 * MESSAGE_ID_BYTES + 1] = '\0';
	rewrite(identity, IDENTITY_MACHINE_ID, text);
}

int identity_open(struct identity *identity, struct error *err)
{
	uint8_t id[MESSAGE_ID_BYTES] = { 0 };
	struct error shown;

	memset(identity, 0, sizeof(*identity));
	identity->random = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	if (identity->random < 0)
		return error_set(err, errno, "/dev/urandom");
	if (read(identity->random, id, sizeof(id)) != (ssize_t)sizeof(id))
		return error_set(err, errno, "/dev/urandom");
	for (int i = 0; i < IDENTITY_FILES; i++) {
		identity->files[i] =
			open(paths[i].held,
			     O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (identity->files[i] < 0)
			return error_set(err, errno, "%s", paths[i].held);
		/* A template may be odd here and work all the same. */
		if (show_file((enum identity_file)i, &shown))
			log_warn("%s", shown.text);
	}
	set_hostname(identity, "bawn");
	set_machine_id(identity, id);
	rewrite(identity, IDENTITY_RESOLV, "nameserver " NET_ADDRESS "\n");
	return 0;
}

static void set_clock(uint64_t wall_clock_ns)
{
	struct timespec now = {
		.tv_sec = (time_t)(wall_clock_ns / 1000000000u),
		.tv_nsec = (long)(wall_clock_ns % 1000000000u),
	};

	if (clock_settime(CLOCK_REALTIME, &now))
		log_warn("clock: %s", strerror(errno));
}

static void add_entropy(int random, const uint8_t bytes[MESSAGE_ENTROPY_BYTES])
{
	struct {
		int bits, size;
		uint8_t bytes[MESSAGE_ENTROPY_BYTES];
	} pool = { .bits = MESSAGE_ENTROPY_BYTES * 8,
		   .size = MESSAGE_ENTROPY_BYTES };

	memcpy(pool.bytes, bytes, sizeof(pool.bytes));
	if (ioctl(random, RNDADDENTROPY, &pool))
		log_error("entropy: %s", strerror(errno));
	/* Without this the generator keeps its key for minutes. */
	if (ioctl(random, RNDRESEEDCRNG))
		log_error("reseed: %s", strerror(errno));
	explicit_bzero(&pool, sizeof(pool));
}

void identity_wake(struct identity *identity, const struct message_wake *wake)
{
	set_clock(wake->wall_clock_ns);
	add_entropy(identity->random, wake->entropy);
	if (identity_check_hostname(wake->hostname) == 0)
		set_hostname(identity, wake->hostname);
	else
		log_warn("the host gave a bad hostname");
	set_machine_id(identity, wake->machine_id);
}

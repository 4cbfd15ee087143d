/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_facts.c - what bawn-net must know of the host's network
 */
#include "launch/host_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <libgen.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "launch/hosts_file.h"
#include "launch/resolv_conf.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define HOSTS "/etc/hosts"

enum {
	SETTLE_MS = 100, /* a file is written in several steps */
	EVENT_BYTES = 16384,
	/* Of a file itself: one that is a mount of its own has no folder. */
	FILE_EVENTS =
		IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF,
	FOLDER_EVENTS = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO |
			IN_MOVED_FROM,
};

/* A missing file, or one that is too long, is an empty one. */
static void read_file(const char *path, struct buffer *text)
{
	AUTO_CLOSE int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct error err = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (fileio_read_fd(fd, text, &err) < 0) {
		log_warn("%s: %s", path, err.text);
		text->len = 0;
	}
}

static json_t *address_json(const struct address *address)
{
	char text[ADDRESS_TEXT_SIZE];

	address_format(address, text);
	return json_string(text);
}

static json_t *read_servers(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RESOLV_CONF_BYTES_MAX);
	struct resolv_conf conf;
	json_t *servers = json_array();

	read_file(RESOLV_CONF, &text);
	resolv_conf_parse(text.data, text.len, &conf);
	for (size_t i = 0; i < conf.count; i++)
		json_array_append_new(servers, address_json(&conf.servers[i]));
	return servers;
}

static void add_host(void *ctx, const char *name, const struct address *address)
{
	json_array_append_new(ctx,
			      json_pack("[s, o]", name, address_json(address)));
}

static json_t *read_hosts(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(HOSTS_FILE_BYTES_MAX);
	json_t *hosts = json_array();

	read_file(HOSTS, &text);
	if (hosts_file_parse(text.data, text.len, HOSTS_FILE_ENTRIES_MAX,
			     add_host, hosts) == HOSTS_FILE_ENTRIES_MAX)
		log_warn(HOSTS ": only the first %d names are used",
			 HOSTS_FILE_ENTRIES_MAX);
	return hosts;
}

/* False: of another kind. */
static bool interface_address(const struct ifaddrs *one, struct address *out)
{
	if (!one->ifa_addr)
		return false;
	if (one->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)one->ifa_addr;

		*out = address_v4((const uint8_t *)&in->sin_addr);
		return true;
	}
	if (one->ifa_addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const void *)one->ifa_addr;

		*out = address_v6(in->sin6_addr.s6_addr);
		return true;
	}
	return false;
}

/* NULL: they cannot be read now. */
static json_t *read_addresses(void)
{
	json_t *addresses = json_array();
	struct address address;
	struct ifaddrs *list;

	if (getifaddrs(&list) < 0) {
		log_warn("addresses of the interfaces: %s", strerror(errno));
		json_decref(addresses);
		return NULL;
	}
	for (const struct ifaddrs *one = list; one; one = one->ifa_next) {
		if (!interface_address(one, &address))
			continue;
		if (json_array_size(addresses) == HOST_FACTS_ADDRESSES_MAX) {
			log_warn("only the first %d addresses of the "
				 "interfaces are guarded",
				 HOST_FACTS_ADDRESSES_MAX);
			break;
		}
		json_array_append_new(addresses, address_json(&address));
	}
	freeifaddrs(list);
	return addresses;
}

/* True when it is another one; takes the reference of fresh. */
static bool replace(json_t **fact, json_t *fresh)
{
	bool same = !fresh || (*fact && json_equal(*fact, fresh));

	if (same) {
		json_decref(fresh);
		return false;
	}
	json_decref(*fact);
	*fact = fresh;
	return true;
}

static bool read_all(struct host_facts *facts)
{
	json_t *resolver = json_pack("{s:o, s:o}", "servers", read_servers(),
				     "hosts", read_hosts());
	bool changed = replace(&facts->resolver, resolver);

	return replace(&facts->addresses, read_addresses()) || changed;
}

/* By its name, and by the name that a link leads to. */
static void watch_file(const struct host_facts *facts, const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);
	AUTO_FREE char *copy = xstrdup(path);

	if (facts->files.fd < 0)
		return;
	/* Failures: it is missing, and then its folder tells when it comes. */
	inotify_add_watch(facts->files.fd, path, FILE_EVENTS);
	inotify_add_watch(facts->files.fd, dirname(copy), FOLDER_EVENTS);
	if (real && strcmp(real, path))
		inotify_add_watch(facts->files.fd, dirname(real),
				  FOLDER_EVENTS);
}

static void watch_files(const struct host_facts *facts)
{
	watch_file(facts, RESOLV_CONF);
	watch_file(facts, HOSTS);
}

static void on_settle(struct timer *timer)
{
	struct host_facts *facts =
		CONTAINER_OF(timer, struct host_facts, settle);

	facts->settling = false;
	/* First the watches: what changes after the reading must be seen. */
	watch_files(facts);
	if (read_all(facts) && facts->on_change)
		facts->on_change(facts->ctx);
}

static void changed(struct host_facts *facts, struct source *source)
{
	char bytes[EVENT_BYTES];
	ssize_t n;

	/* What it says does not matter; ENOBUFS means that there was a lot. */
	do
		n = read(source->fd, bytes, sizeof(bytes));
	while (n > 0);
	if (n == 0) {
		loop_del(source);
		return;
	}
	if (facts->settling)
		return;
	facts->settling = true;
	timer_start(facts->loop, &facts->settle, SETTLE_MS);
}

static void on_files(struct source *source, uint32_t events)
{
	changed(CONTAINER_OF(source, struct host_facts, files), source);
}

static void on_links(struct source *source, uint32_t events)
{
	changed(CONTAINER_OF(source, struct host_facts, links), source);
}

static int open_links(void)
{
	AUTO_CLOSE int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       NETLINK_ROUTE);
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};

	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		log_warn("changes of addresses are not seen: %s",
			 strerror(errno));
		return -1;
	}
	return TAKE_FD(fd);
}

int host_facts_open(struct host_facts *facts, struct loop *loop,
		    struct error *err)
{
	facts->loop = loop;
	facts->settle =
		(struct timer){ .name = "host facts", .on_fire = on_settle };
	facts->files = (struct source){ .name = "resolver files",
					.events = EPOLLIN,
					.on_event = on_files };
	facts->links = (struct source){ .name = "addresses",
					.events = EPOLLIN,
					.on_event = on_links };
	facts->files.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	facts->links.fd = open_links();
	watch_files(facts);
	read_all(facts);
	/* A guard without the host's own addresses would be none. */
	if (!facts->addresses)
		return error_set(err, 0, "the host's addresses are not known");
	if (facts->files.fd >= 0 && loop_add(loop, &facts->files, err) < 0)
		return -1;
	return facts->links.fd >= 0 ? loop_add(loop, &facts->links, err) : 0;
}

static void close_source(struct source *source)
{
	loop_del(source);
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

void host_facts_release(struct host_facts *facts)
{
	timer_stop(&facts->settle);
	close_source(&facts->files);
	close_source(&facts->links);
	json_decref(facts->resolver);
	json_decref(facts->addresses);
}

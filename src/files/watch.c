/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - changes that the host makes, told to the guest's kernel
 *
 * inotify queues an event before the system call that caused it returns. So
 * when the queue was read to its end, every event of our own that happened
 * before is among those read, and the notes about them can go. A host's change
 * of the same kind to the same name in the same moment may be taken for ours;
 * the guest's kernel has just dropped what it knew about that file, because it
 * changed it itself.
 */
#include "files/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "files/fuse_reply.h"
#include "files/held.h"
#include "files/policy.h"
#include "files/server.h"

#define EVENTS                                                             \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | \
	 IN_ATTRIB | IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK)
#define NAME_EVENTS (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define EVENT_BYTES_MAX (sizeof(struct inotify_event) + NAME_MAX + 1)
/* What the events of one turn can become at most. */
#define ROOM_BYTES (512U << 10)
#define DROP_CHUNK 512
#define PAUSE_MS 3

static void on_event(struct source *source, uint32_t events);
static void on_pause_over(struct timer *timer);

int watch_init(struct server *server, struct error *err)
{
	struct watch *watch = &server->watch;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "inotify");
	watch->names = 1;
	watch->source = (struct source){ .name = "host changes",
					 .fd = fd,
					 .events = EPOLLIN,
					 .on_event = on_event };
	watch->pause = (struct timer){ .name = "host changes",
				       .on_fire = on_pause_over };
	return 0;
}

int watch_start(struct server *server, struct error *err)
{
	return loop_add(server->loop, &server->watch.source, err);
}

void watch_release(struct server *server)
{
	timer_stop(&server->watch.pause);
	loop_del(&server->watch.source);
	close(server->watch.source.fd);
}

static uint32_t *bucket_of(struct watch *watch, int32_t number)
{
	return &watch->buckets[(uint32_t)number % WATCH_BUCKETS];
}

static bool watched_twice(struct server *server, const struct node *node)
{
	uint32_t index = *bucket_of(&server->watch, node->watch);

	while (index) {
		const struct node *other = node_at(server->nodes, index);

		if (other != node && other->watch == node->watch)
			return true;
		index = other->watch_next;
	}
	return false;
}

static void unchain(struct server *server, struct node *node)
{
	uint32_t *link = bucket_of(&server->watch, node->watch);
	uint32_t index = node_index(server->nodes, node);

	while (*link && *link != index)
		link = &node_at(server->nodes, *link)->watch_next;
	if (*link)
		*link = node->watch_next;
	node->watch = -1;
	node->watch_next = 0;
	server->watch.count--;
	server->watch.names++;
	server->watch.moves++;
}

void watch_forget(struct server *server, struct node *node)
{
	if (node->watch < 0)
		return;
	if (!watched_twice(server, node))
		inotify_rm_watch(server->watch.source.fd, node->watch);
	unchain(server, node);
	server->watch.full = false;
}

int watch_folder(struct server *server, struct node *folder)
{
	struct watch *watch = &server->watch;
	uint32_t *bucket;
	char number[16];
	int fd, added;

	if (folder->watch >= 0)
		return 0;
	if (watch->full || watch->count >= WATCH_FOLDERS_MAX ||
	    folder->type != S_IFDIR)
		return -1;
	fd = node_fds_path(&server->fds, folder);
	if (fd < 0)
		return -1;
	text_format(number, sizeof(number), "%d", fd);
	added = inotify_add_watch(watch->source.fd, number, EVENTS);
	if (added < 0) {
		watch->full = errno == ENOSPC;
		return -1;
	}
	folder->watch = added;
	bucket = bucket_of(watch, added);
	folder->watch_next = *bucket;
	*bucket = node_index(server->nodes, folder);
	watch->count++;
	return 1;
}

static uint32_t hash_name(const char *name)
{
	uint32_t h = 2166136261U;

	while (*name)
		h = (h ^ (uint8_t)*name++) * 16777619U;
	return h;
}

void watch_own(struct server *server, const struct node *folder,
	       const char *name, uint32_t mask)
{
	struct watch *watch = &server->watch;
	struct watch_event event = { folder->watch, mask, hash_name(name) };

	/* Without a note it is told as the host's: slower, not wrong. */
	if (folder->watch < 0 || watch->own_count == WATCH_OWN_MAX ||
	    watched_twice(server, folder))
		return;
	if (watch->own_count &&
	    !memcmp(&watch->own[watch->own_count - 1], &event, sizeof(event)))
		return;
	watch->own[watch->own_count++] = event;
}

void watch_own_node(struct server *server, const struct node *node,
		    uint32_t mask)
{
	const struct node *parent = node_parent(server->nodes, node);
	char name[NODE_NAME_MAX + 1];

	if (parent && node_name(server->nodes, node, name))
		watch_own(server, parent, name, mask);
	/* The times of a folder are its own event, without a name. */
	if (node->watch >= 0)
		watch_own(server, node, "", mask);
}

static bool is_own(const struct watch *watch, const struct inotify_event *event)
{
	uint32_t name = hash_name(event->len ? event->name : "");

	for (unsigned i = 0; i < watch->own_count; i++) {
		const struct watch_event *own = &watch->own[i];

		if (own->watch == event->wd && own->name == name &&
		    (own->mask & event->mask))
			return true;
	}
	return false;
}

/* Said already in this turn? A forgotten "yes" costs a message. */
static bool told(struct watch *watch, const struct node *node, uint64_t what)
{
	uint64_t hash = node->key.ino * 0x9e3779b97f4a7c15ULL +
			node->key.share * 0xc2b2ae3d27d4eb4fULL +
			what * 0x165667b19e3779f9ULL + 1;
	uint64_t *slot = &watch->recent[(hash >> 32) % WATCH_RECENT];

	if (*slot == hash)
		return true;
	*slot = hash;
	return false;
}

static void send_inode(struct server *server, struct node *node, bool with_data)
{
	size_t left;
	void *room = port_room(&server->port, &left);

	port_commit(&server->port,
		    reply_inval_inode(room, left, node->key.share,
				      node_table_id(server->nodes, node),
				      with_data));
}

void watch_tell_content(struct server *server, struct node *node)
{
	send_inode(server, node, true);
}

static void tell_inode(struct server *server, struct node *node, bool with_data)
{
	if (!node->lookups && !node_is_root(server->nodes, node))
		return;
	if (!told(&server->watch, node, with_data))
		send_inode(server, node, with_data);
}

bool watch_leads_to_share(struct server *server, const struct node *folder,
			  const char *name)
{
	const struct share *outer = &server->shares[folder->key.share];
	size_t len;

	if (!outer->holds_others ||
	    node_path(server->nodes, folder, name, server->path,
		      sizeof(server->path)) < 0)
		return false;
	len = strlen(server->path);
	for (unsigned i = 0; i < server->share_count; i++) {
		const char *way = share_way(outer, &server->shares[i]);

		if (way && strncmp(way, server->path, len) == 0 &&
		    (!way[len] || way[len] == '/'))
			return true;
	}
	return false;
}

void watch_tell_entry(struct server *server, struct node *folder,
		      const char *name)
{
	size_t left;
	void *room = port_room(&server->port, &left);

	if (watch_leads_to_share(server, folder, name))
		return;
	port_commit(&server->port,
		    reply_inval_entry(room, left, folder->key.share,
				      node_table_id(server->nodes, folder),
				      name));
}

static void tell_entry(struct server *server, struct node *folder,
		       const char *name)
{
	if (!told(&server->watch, folder, 2 + (uint64_t)hash_name(name)))
		watch_tell_entry(server, folder, name);
}

/* S_IFMT part of what the guest may see there now; 0: nothing. */
static uint32_t type_at(struct server *server, struct node *folder,
			const char *name, struct statx *st)
{
	int fd = node_fds_folder(&server->fds, folder);

	/* Of a version of its own nobody but the guest changes anything. */
	if (fd < 0 || held_stat(server, folder, name, st) != 0 ||
	    statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, SHARE_STATX,
		  st) < 0)
		return 0;
	if (policy_is_absent(server, st) ||
	    policy_hides(server, folder, name, st->stx_mode & S_IFMT))
		return 0;
	return st->stx_mode & S_IFMT;
}

static void tell_changed(struct server *server, struct node *folder,
			 const struct inotify_event *event)
{
	bool with_data = event->mask & (IN_MODIFY | IN_CLOSE_WRITE);
	struct node_key key;
	struct node *node;
	struct statx st;
	uint32_t type;

	if (!event->len) {
		tell_inode(server, folder, false);
		return;
	}
	type = type_at(server, folder, event->name, &st);
	if (!type)
		return;
	key = share_key(folder->key.share, &st);
	node = node_table_find(server->nodes, &key);
	if (node)
		tell_inode(server, node, with_data);
	announce_event(server, folder, event, type);
}

/*
 * What lies in it is found by way of its name. Below an overlay a name stays
 * its node (lower.h), and nothing is changed.
 */
static void follow_folder(struct server *server, struct node *folder,
			  const char *name, const struct statx *st)
{
	const struct share *share = &server->shares[folder->key.share];
	struct node_key key = share_key(folder->key.share, st);
	struct node *node = node_table_find(server->nodes, &key);

	if (node && !(share->flags & RECORD_SHARE_OVERLAY))
		node_table_place(server->nodes, node, folder, name);
}

static void tell_name(struct server *server, struct node *folder,
		      const struct inotify_event *event)
{
	struct node *node;
	uint32_t type = 0;
	struct statx st;

	if (!event->len ||
	    policy_hides(server, folder, event->name,
			 event->mask & IN_ISDIR ? S_IFDIR : S_IFREG) != 0 ||
	    held_stat(server, folder, event->name, &st) != 0)
		return;
	if (event->mask & (IN_CREATE | IN_MOVED_TO))
		type = type_at(server, folder, event->name, &st);
	if (type == S_IFDIR && (event->mask & IN_MOVED_TO))
		follow_folder(server, folder, event->name, &st);
	if (type && (node = lower_follow(server, folder, event->name, &st)))
		tell_inode(server, node, true);
	if (!announce_event(server, folder, event, type))
		tell_entry(server, folder, event->name);
}

static void tell(struct server *server, struct node *folder,
		 const struct inotify_event *event)
{
	if (event->mask & IN_IGNORED) {
		unchain(server, folder);
		return;
	}
	if (!(event->mask & NAME_EVENTS)) {
		tell_changed(server, folder, event);
		return;
	}
	/* Which folder it was, and what we hold beneath it, is hard to say. */
	if ((event->mask & IN_ISDIR) &&
	    (event->mask & (IN_MOVED_FROM | IN_MOVED_TO)))
		node_fds_drop_all(&server->fds);
	tell_name(server, folder, event);
	tell_inode(server, folder, true);
}

static void tell_all_nodes(struct server *server,
			   const struct inotify_event *event)
{
	uint32_t index = *bucket_of(&server->watch, event->wd), next;

	for (; index; index = next) {
		struct node *node = node_at(server->nodes, index);

		next = node->watch_next;
		if (node->watch == event->wd)
			tell(server, node, event);
	}
}

static void send_drop(struct server *server)
{
	for (unsigned i = 0; i < server->share_count; i++) {
		struct record record = { .type = RECORD_DROP,
					 .share = (uint8_t)i };
		size_t left;

		record_encode(&record, port_room(&server->port, &left));
		port_commit(&server->port, RECORD_HEADER_BYTES);
	}
}

/* Tells of each node once more, some at a time. */
static void drop_some(struct server *server)
{
	struct watch *watch = &server->watch;
	uint32_t end = node_table_end(server->nodes);
	char name[NODE_NAME_MAX + 1];

	for (int i = 0; i < DROP_CHUNK && watch->dropping; i++) {
		struct node *node = node_at(server->nodes, watch->dropping);

		if (++watch->dropping >= end)
			watch->dropping = 0;
		if (!(node->flags & NODE_LIVE))
			continue;
		/* A predecessor's watches ended with it. */
		node_fds_begin_request(&server->fds);
		watch_folder(server, node);
		lower_remember(server, node);
		tell_inode(server, node, true);
		if (node->parent && node_name(server->nodes, node, name))
			tell_entry(server, node_parent(server->nodes, node),
				   name);
	}
}

void watch_drop(struct server *server)
{
	node_fds_drop_all(&server->fds);
	send_drop(server);
	server->watch.dropping = 1;
	timer_start(server->loop, &server->watch.pause, PAUSE_MS);
}

void watch_drop_soon(struct server *server)
{
	server->watch.drop_due = true;
	if (!server->watch.pause.loop)
		timer_start(server->loop, &server->watch.pause, PAUSE_MS);
}

static void handle(struct server *server, const uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		const struct inotify_event *event =
			(const struct inotify_event *)(bytes + at);

		node_fds_begin_request(&server->fds);
		if (event->mask & IN_Q_OVERFLOW) {
			log_limited(LOG_LEVEL_WARN, "too many changes at "
						    "once: caches dropped");
			watch_drop(server);
		} else if (!is_own(&server->watch, event))
			tell_all_nodes(server, event);
		at += sizeof(*event) + event->len;
	}
}

static bool has_room(struct server *server)
{
	size_t left;

	port_room(&server->port, &left);
	return left >= ROOM_BYTES;
}

#define ENDS (IN_Q_OVERFLOW | IN_IGNORED | IN_UNMOUNT)

static bool changes_names(const struct inotify_event *event)
{
	if (event->mask & ENDS)
		return true;
	/* A new folder is not one that anything is known of. */
	if ((event->mask & IN_ISDIR) &&
	    (event->mask & (IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)))
		return true;
	return (event->mask & NAME_EVENTS) && event->len &&
	       strcasecmp(event->name, "HEAD") == 0;
}

/* True when the queue was read to its end. */
static bool hear(struct watch *watch)
{
	size_t left = sizeof(watch->heard) - watch->heard_len;
	uint8_t *bytes = watch->heard + watch->heard_len;
	const struct inotify_event *event;
	ssize_t n;

	if (left < EVENT_BYTES_MAX)
		return false;
	n = read(watch->source.fd, bytes, left);
	if (n <= 0)
		return true;
	for (size_t at = 0; at < (size_t)n; at += sizeof(*event) + event->len) {
		event = (const struct inotify_event *)(bytes + at);
		if (changes_names(event))
			watch->names++;
		/* What is new was not there before. */
		if (event->mask & (ENDS | (NAME_EVENTS & ~IN_CREATE)))
			watch->moves++;
	}
	watch->heard_len += (size_t)n;
	return left - (size_t)n >= EVENT_BYTES_MAX;
}

/* True when the queue was read to its end. */
static bool drain(struct server *server)
{
	static uint8_t bytes[WATCH_HEARD_BYTES]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	struct watch *watch = &server->watch;

	memset(watch->recent, 0, sizeof(watch->recent));
	while (has_room(server)) {
		bool all = hear(watch);
		size_t len = watch->heard_len;

		/* Who is told may want to hear more. */
		memcpy(bytes, watch->heard, len);
		watch->heard_len = 0;
		handle(server, bytes, len);
		if (all)
			return true;
	}
	return false;
}

uint64_t watch_names(struct server *server)
{
	struct watch *watch = &server->watch;
	bool all = hear(watch);

	if (watch->heard_len && !watch->pause.loop)
		timer_start(server->loop, &watch->pause, PAUSE_MS);
	return all ? watch->names : 0;
}

uint64_t watch_moves(const struct server *server)
{
	return server->watch.moves;
}

void watch_hear(struct server *server)
{
	if (drain(server))
		server->watch.own_count = 0;
	announce_settle(server);
	announce_send(server);
}

/* A host that changes one file a thousand times is told of a few times. */
static void take_turn(struct server *server)
{
	watch_hear(server);
	timer_start(server->loop, &server->watch.pause, PAUSE_MS);
}

void watch_resume(struct server *server)
{
	struct watch *watch = &server->watch;
	bool room = has_room(server);

	if (watch->drop_due && room) {
		watch->drop_due = false;
		memset(watch->recent, 0, sizeof(watch->recent));
		watch_drop(server);
	}
	if (watch->dropping && room)
		drop_some(server);
	if (watch->heard_len && room && !watch->pause.loop)
		take_turn(server);
	loop_wait_for(&watch->source, room && !watch->pause.loop ? EPOLLIN : 0);
}

static void on_event(struct source *source, uint32_t events)
{
	struct server *server =
		CONTAINER_OF(source, struct server, watch.source);

	take_turn(server);
	watch_resume(server);
	port_kick(&server->port);
}

static void on_pause_over(struct timer *timer)
{
	struct server *server = CONTAINER_OF(timer, struct server, watch.pause);

	watch_resume(server);
	port_kick(&server->port);
	if (server->watch.dropping)
		timer_start(server->loop, timer, PAUSE_MS);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_make.c - new files, answered before the server has made them
 *
 * In a folder that was made here, of which all names are known (relay_ahead.h),
 * CREATE of another name does not fail as long as there is room and nobody on
 * the host is there as well, which the server would tell. The server has given
 * numbers of nodes for that, and hears with the request which one it was.
 *
 * One thing is not known, the number that stat() tells of a file. So the kernel
 * is told to ask for the attributes again at once. It does so for the first
 * time while it is still in open(), which only wants to know the mode: that
 * one, by the same thread, is answered from here.
 *
 * Where it fails nevertheless, the name is the host's: the kernel looks it up
 * again, and fsync of the file and of the folder says what happened.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "guest/relay_internal.h"
#include "proto/cursor.h"

#define MAY_ADD (S_IWUSR | S_IXUSR)
/* Less than where the host watches a folder. */
#define MAKE_NAME_S 60

void relay_make_reset(struct relay *relay)
{
	for (unsigned i = 0; i < WELCOME_SHARES_MAX; i++)
		relay->shares[i].spare_count = 0;
}

/* A server that has died had given it before. */
static bool is_in_use(const struct relay *relay, unsigned share, uint64_t node)
{
	LIST_FOR_EACH(at, &relay->pending.order) {
		const struct pending *pending =
			LIST_ENTRY(at, struct pending, order);

		if (pending->share == share && pending->promised == node)
			return true;
	}
	return false;
}

bool relay_make_spares(struct relay *relay, unsigned share,
		       const uint8_t *bytes, size_t len)
{
	struct relay_share *to;
	size_t count;

	if (share >= relay->count ||
	    record_nodes_decode(bytes, len, &count) < 0)
		return false;
	to = &relay->shares[share];
	for (size_t i = 0; i < count; i++) {
		uint64_t node = record_node_at(bytes, i);

		if (node > FUSE_ROOT_ID &&
		    to->spare_count < RECORD_SPARES_MAX &&
		    !is_in_use(relay, share, node))
			to->spares[to->spare_count++] = node;
	}
	return true;
}

static bool may_make(struct relay *relay, unsigned share,
		     const struct fuse_in_header *head,
		     const struct fuse_create_in *in)
{
	const struct relay_share *of = &relay->shares[share];

	return of->spare_count && of->roomy && !(in->mode & 07000) &&
	       head->pid != relay->notifier.thread &&
	       relay_early_may(relay, share, head->nodeid);
}

/* It is its folder's owner's; the number is none that anybody is told. */
static struct fuse_attr attr_of(const struct known *folder, uint64_t node,
				uint32_t mode)
{
	struct timespec now;
	uint64_t seconds;
	uint32_t rest;

	clock_gettime(CLOCK_REALTIME, &now);
	seconds = (uint64_t)now.tv_sec;
	rest = (uint32_t)now.tv_nsec;
	return (struct fuse_attr){ .ino = node,
				   .atime = seconds,
				   .mtime = seconds,
				   .ctime = seconds,
				   .atimensec = rest,
				   .mtimensec = rest,
				   .ctimensec = rest,
				   .mode = S_IFREG | (mode & 0777),
				   .nlink = 1,
				   .uid = folder->attr.uid,
				   .gid = folder->attr.gid,
				   .blksize = folder->attr.blksize };
}

void relay_make_send(struct relay *relay, const struct pending *pending,
		     uint8_t *room)
{
	struct writer w;

	memcpy(room, pending->bytes, pending->len);
	w = writer_over(room + pending->len, RECORD_MAKE_BYTES);
	writer_u64(&w, pending->promised);
	stream_out_commit(&relay->shared->out, RECORD_MAKE, pending->share,
			  pending->len + RECORD_MAKE_BYTES);
}

bool relay_make_file(struct relay *relay, unsigned share, const uint8_t *bytes,
		     size_t len, uint64_t seconds, uint8_t *room)
{
	struct {
		struct fuse_out_header head;
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} reply = { .head = { .len = sizeof(reply) },
		    .open = { .open_flags = FOPEN_KEEP_CACHE } };
	struct relay_share *of = &relay->shares[share];
	struct fuse_in_header head;
	struct fuse_create_in in;
	struct pending *pending;
	struct known *folder;

	memcpy(&head, bytes, sizeof(head));
	memcpy(&in, bytes + sizeof(head), sizeof(in));
	folder = known_find(&relay->known, share, head.nodeid);
	/* Its owner makes it, whoever asks. */
	if (!folder || !folder->is_folder || !folder->has_attr ||
	    (folder->attr.mode & MAY_ADD) != MAY_ADD ||
	    !may_make(relay, share, &head, &in))
		return false;
	pending = pending_add(&relay->pending, share, bytes, len);
	pending->promised = of->spares[--of->spare_count];
	reply.head.unique = head.unique;
	reply.entry.nodeid = pending->promised;
	reply.entry.generation = pending->promised >> 32;
	reply.entry.entry_valid = seconds;
	reply.entry.attr = attr_of(folder, pending->promised, in.mode);
	folder->changing++;
	known_made(&relay->known, share, head.nodeid, &reply.entry)->opener =
		head.pid;
	relay_early_say(relay, pending, &reply, sizeof(reply));
	relay_make_send(relay, pending, room + RECORD_HEADER_BYTES);
	return true;
}

bool relay_make_open(struct relay *relay, unsigned share,
		     const struct fuse_in_header *in)
{
	struct known *known = known_find(&relay->known, share, in->nodeid);
	struct fuse_attr_out attr = { 0 };
	uint32_t opener;

	if (!known || !known->opener)
		return false;
	opener = known->opener;
	known->opener = 0;
	if (in->pid != opener || !known->has_attr)
		return false;
	attr.attr = known->attr;
	relay_fuse_tell_attr(relay, share, in->unique, &attr);
	return true;
}

/* What the kernel takes for this name is not what it is. */
static void look_again(struct relay *relay, const struct pending *pending)
{
	size_t at =
		sizeof(struct fuse_in_header) + sizeof(struct fuse_create_in);
	size_t name_len = pending->len - at - 1;
	struct {
		struct fuse_out_header head;
		struct fuse_notify_inval_entry_out out;
		char name[AHEAD_NAME_MAX + 1];
	} notice = { .head = { .error = FUSE_NOTIFY_INVAL_ENTRY },
		     .out = { .parent = pending->node,
			      .namelen = (uint32_t)name_len } };
	struct record record = { .type = RECORD_FUSE, .share = pending->share };

	if (name_len > AHEAD_NAME_MAX)
		return;
	memcpy(notice.name, pending->bytes + at, name_len);
	notice.head.len = (uint32_t)(sizeof(notice.head) + sizeof(notice.out) +
				     name_len + 1);
	record.len = notice.head.len;
	relay_notify(relay, &record, (const uint8_t *)&notice);
}

static int result_of(const struct pending *pending,
		     const struct fuse_out_header *head, const uint8_t *bytes,
		     struct fuse_entry_out *entry)
{
	if (head->error)
		return -head->error;
	if (head->len < sizeof(*head) + sizeof(*entry))
		return EIO;
	memcpy(entry, bytes + sizeof(*head), sizeof(*entry));
	return entry->nodeid == pending->promised ? 0 : EIO;
}

void relay_make_done(struct relay *relay, const struct pending *pending,
		     const struct fuse_out_header *head, const uint8_t *bytes)
{
	uint64_t node = pending->promised;
	struct known *known = known_find(&relay->known, pending->share, node);
	struct fuse_entry_out entry = { 0 };
	int error = result_of(pending, head, bytes, &entry);

	if (!error) {
		if (known) {
			known->opener = 0;
			known->attr.ino = entry.attr.ino;
		}
		/* A guarded name is not to be believed for long. */
		if (entry.entry_valid < MAKE_NAME_S)
			look_again(relay, pending);
		return;
	}
	log_limited(LOG_LEVEL_WARN, "a file was not made after its answer: %s",
		    strerror(error));
	ahead_drop(&relay->ahead, pending->share, pending->node);
	known_drop(&relay->known, pending->share, pending->node);
	known_drop(&relay->known, pending->share, node);
	writes_failed(&relay->writes, pending->share, pending->node, error);
	writes_failed(&relay->writes, pending->share, node, error);
	look_again(relay, pending);
}

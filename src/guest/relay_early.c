/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_early.c - changes that are answered before the server has made them
 *
 * A WRITE of a file that the server has let us change before, as long as it
 * says that there is room; a SETATTR of one that was made here; an UNLINK in a
 * folder where one went well before. All go on to the server in their place
 * among the others, so that whatever follows finds them done. PID 1 is told how
 * many are under way: a session has not ended before the host has what it
 * wrote.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "guest/relay_internal.h"
#include "proto/cursor.h"

void relay_early_reset(struct relay *relay)
{
	known_clear(&relay->known);
	relay_make_reset(relay);
	for (unsigned i = 0; i < WELCOME_SHARES_MAX; i++)
		relay->shares[i].roomy = false;
}

bool relay_early_room(struct relay *relay, unsigned share, const uint8_t *bytes,
		      size_t len)
{
	bool there;

	if (share >= relay->count || record_room_decode(bytes, len, &there) < 0)
		return false;
	relay->shares[share].roomy = there;
	return true;
}

bool relay_early_may(struct relay *relay, unsigned share, uint64_t node)
{
	return !(relay->shares[share].flags & RECORD_SHARE_OVERLAY) &&
	       writes_may_answer(&relay->writes, share, node);
}

static bool may_answer(struct relay *relay, const struct pending *pending)
{
	return relay_early_may(relay, pending->share, pending->node);
}

void relay_early_say(struct relay *relay, struct pending *pending,
		     const void *reply, size_t len)
{
	pending_answer(&relay->pending, pending);
	__atomic_add_fetch(&relay->shared->early, 1, __ATOMIC_RELEASE);
	if (write(relay->shares[pending->share].fd, reply, len) < 0)
		return; /* its process is gone; the change still counts */
}

void relay_early_write(struct relay *relay, struct pending *pending)
{
	struct {
		struct fuse_out_header head;
		struct fuse_write_out out;
	} reply = { .head = { .len = sizeof(reply),
			      .unique = pending->unique } };
	struct known *known =
		known_find(&relay->known, pending->share, pending->node);
	struct fuse_write_in in;

	if (pending->len < RELAY_WRITE_HEAD)
		return;
	memcpy(&in, pending->bytes + sizeof(struct fuse_in_header), sizeof(in));
	if (known)
		known_write(known, &in);
	/* O_SYNC asks for the answer of the disk; where nothing may be written
	 * the writer must hear of it. */
	if (!known || !relay->shares[pending->share].roomy ||
	    in.flags & O_SYNC || !may_answer(relay, pending))
		return;
	reply.out.size = in.size;
	relay_early_say(relay, pending, &reply, sizeof(reply));
}

void relay_early_set(struct relay *relay, struct pending *pending)
{
	struct {
		struct fuse_out_header head;
		struct fuse_attr_out attr;
	} reply = { .head = { .len = sizeof(reply),
			      .unique = pending->unique } };
	struct known *known =
		known_find(&relay->known, pending->share, pending->node);
	struct fuse_in_header head;
	struct fuse_setattr_in in;
	struct timespec now;

	if (!known || pending->len < sizeof(head) + sizeof(in))
		return;
	/* What may be done in it, and its times, are another matter now. */
	if (known->is_folder) {
		known->node = 0;
		return;
	}
	memcpy(&head, pending->bytes, sizeof(head));
	memcpy(&in, pending->bytes + sizeof(head), sizeof(in));
	clock_gettime(CLOCK_REALTIME, &now);
	/* What the notifier asks for is no change, but has to be heard. */
	if (head.pid != relay->notifier.thread && may_answer(relay, pending) &&
	    known_set(known, &in, &now, &reply.attr))
		relay_early_say(relay, pending, &reply, sizeof(reply));
	else
		known->has_attr = false;
}

void relay_early_remove(struct relay *relay, struct pending *pending)
{
	struct fuse_out_header reply = { .len = sizeof(reply),
					 .unique = pending->unique };
	struct known *known =
		known_find(&relay->known, pending->share, pending->node);

	/* The journal may have to keep what goes. */
	if (!known || !known->may_lose ||
	    !relay->shares[pending->share].roomy || !may_answer(relay, pending))
		return;
	known->changing++;
	relay_early_say(relay, pending, &reply, sizeof(reply));
}

/* Through a handle: the kernel itself asks, for the size. stat() does not. */
static bool wants_size(const uint8_t *bytes, size_t len)
{
	struct fuse_getattr_in in;

	if (len < sizeof(struct fuse_in_header) + sizeof(in))
		return false;
	memcpy(&in, bytes + sizeof(struct fuse_in_header), sizeof(in));
	return in.getattr_flags & FUSE_GETATTR_FH;
}

/*
 * What the kernel has is newer than its question now, so that it takes nothing
 * from the answer: it keeps its size, its pages, which another time of change
 * would cost, and that no write of the file can take a privilege away, which it
 * would ask for again. Pages are not waited for, nor the node, which is in use.
 */
static bool outdate(struct relay *relay, unsigned share, uint64_t node)
{
	struct {
		struct fuse_out_header head;
		struct fuse_notify_inval_inode_out out;
	} notice = { .head = { .len = sizeof(notice),
			       .error = FUSE_NOTIFY_INVAL_INODE },
		     .out = { .ino = node, .off = -1 } };

	return write(relay->shares[share].fd, &notice, sizeof(notice)) >= 0;
}

bool relay_early_attr(struct relay *relay, unsigned share,
		      const struct fuse_in_header *in, const uint8_t *bytes,
		      size_t len)
{
	struct known *known = known_find(&relay->known, share, in->nodeid);
	struct fuse_attr_out attr = { .attr = { .mode = S_IFREG } };
	struct timespec now;

	if (!known || !(known->changing || known->written))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!known_attr(known, &now, &attr) &&
	    !(wants_size(bytes, len) && known_take_size(known, &now) &&
	      outdate(relay, share, in->nodeid)))
		return false;
	relay_fuse_tell_attr(relay, share, in->unique, &attr);
	return true;
}

static int error_of_write(const struct pending *pending,
			  const struct fuse_out_header *head,
			  const uint8_t *bytes)
{
	struct fuse_write_out out;
	struct fuse_write_in in;

	if (head->len < sizeof(*head) + sizeof(out))
		return EIO;
	memcpy(&out, bytes + sizeof(*head), sizeof(out));
	memcpy(&in, pending->bytes + sizeof(struct fuse_in_header), sizeof(in));
	/* What did not fit can only be told as if none of it had. */
	return out.size == in.size ? 0 : ENOSPC;
}

void relay_early_done(struct relay *relay, const struct pending *pending,
		      const struct fuse_out_header *head, const uint8_t *bytes)
{
	struct known *known =
		known_find(&relay->known, pending->share, pending->node);
	int error = -head->error;

	if (known && known->changing)
		known->changing--;
	__atomic_add_fetch(&relay->shared->made, 1, __ATOMIC_RELEASE);
	if (pending->promised) {
		relay_make_done(relay, pending, head, bytes);
		return;
	}
	if (!error && pending->opcode == FUSE_WRITE)
		error = error_of_write(pending, head, bytes);
	/* Somebody was faster; it is gone in any case. */
	if (error == ENOENT && pending->opcode == FUSE_UNLINK)
		error = 0;
	if (!error)
		return;
	log_limited(LOG_LEVEL_WARN, "a change failed after its answer: %s",
		    strerror(error));
	known_drop(&relay->known, pending->share, pending->node);
	writes_failed(&relay->writes, pending->share, pending->node, error);
}

/* The kernel was told to ask again; it will find the truth here. */
void relay_early_keep(struct relay *relay, unsigned share, uint64_t node,
		      const uint8_t *bytes, size_t len)
{
	uint8_t payload[24 + sizeof(struct fuse_attr_out)];
	struct writer w = writer_over(payload, sizeof(payload));

	if (len !=
	    sizeof(struct fuse_out_header) + sizeof(struct fuse_attr_out))
		return;
	writer_u32(&w, FUSE_GETATTR);
	writer_u32(&w, 0);
	writer_u64(&w, node);
	writer_u64(&w, 0);
	writer_bytes(&w, bytes + sizeof(struct fuse_out_header),
		     sizeof(struct fuse_attr_out));
	relay_fuse_ahead(relay, share, payload, sizeof(payload));
}

void relay_early_learn(struct relay *relay, const struct pending *pending,
		       const struct fuse_out_header *head, const uint8_t *bytes)
{
	struct fuse_attr_out attr;

	/* Its length is not what was reckoned with. */
	if (head->error && pending->opcode == FUSE_WRITE)
		known_drop(&relay->known, pending->share, pending->node);
	if (head->error)
		return;
	if (pending->opcode == FUSE_GETATTR &&
	    head->len == sizeof(*head) + sizeof(attr)) {
		memcpy(&attr, bytes + sizeof(*head), sizeof(attr));
		known_told(&relay->known, pending->share, pending->node,
			   &attr.attr, (uint64_t)time(NULL));
	}
	if (pending->opcode == FUSE_CREATE || pending->opcode == FUSE_MKDIR)
		known_answered(&relay->known, pending->share, pending->node,
			       bytes + sizeof(*head),
			       head->len - sizeof(*head));
	else if (pending->opcode == FUSE_WRITE ||
		 pending->opcode == FUSE_SETATTR)
		known_changed(&relay->known, pending->share, pending->node);
	/* Where one failed, the next is waited for, also when it was told. */
	else if (pending->opcode == FUSE_UNLINK && may_answer(relay, pending))
		known_removed(&relay->known, pending->share, pending->node);
}

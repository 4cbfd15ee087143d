/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_fuse.c - requests of the kernel, answers of the server
 *
 * A request is read to where it leaves from; a copy is kept until its answer
 * came. Some kinds are not simply passed on:
 *  WRITE      is answered at once where that is right, see relay_early.c
 *  SETATTR    the same
 *  UNLINK     the same
 *  CREATE     the same, see relay_make.c
 *  FLUSH      is answered ENOSYS: the kernel closes without a message
 *  RELEASE    too: there are no handles
 *  FSYNC      its answer carries the error of an earlier change; FSYNCDIR too
 *  INTERRUPT  is answered ENOSYS: the kernel sends no more of them
 *  GETXATTR   of anything but user.* is refused, as the server would; the
 *             kernel asks for security.capability at each first write
 * What was answered ahead is not passed on either, see relay_ahead.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "guest/relay_internal.h"

/* What the driver of the port takes with one write. */
#define SEND_BYTES (32U << 10)
/* Requests in a row for which nobody had to be woken. */
#define LOOKS_TO_MUTE 16
/* At once: what comes from the server has its turn, too. */
#define PULLS_PER_ROUND 64

static void answer(struct relay *relay, unsigned share, uint64_t unique,
		   int error)
{
	struct fuse_out_header head = { .len = sizeof(head),
					.error = -error,
					.unique = unique };

	/* Fails when nobody waits for it any more. */
	if (write(relay->shares[share].fd, &head, sizeof(head)) < 0)
		return;
}

void relay_fuse_init(struct relay *relay)
{
	pending_init(&relay->pending);
	writes_init(&relay->writes);
	ahead_init(&relay->ahead);
	listings_init(&relay->listings);
}

void relay_fuse_over(struct relay *relay, unsigned share)
{
	struct relay_share *over = &relay->shares[share];

	over->state = RELAY_SHARE_OVER;
	over->readable = over->initialised = false;
	/* The notifier may be about to use the number. */
	if (over->fd >= 0)
		dup2(relay->null_fd, over->fd);
}

void relay_fuse_repeat(struct pending *pending)
{
	uint8_t *at = pending->bytes + sizeof(struct fuse_in_header);
	struct fuse_write_in in;

	if (!pending->sent || pending->opcode != FUSE_WRITE ||
	    pending->len < sizeof(struct fuse_in_header) + sizeof(in))
		return;
	/* Where the kernel says, not once more behind the end. */
	memcpy(&in, at, sizeof(in));
	in.flags &= ~(uint32_t)O_APPEND;
	memcpy(at, &in, sizeof(in));
}

/* What is kept of it is about what the kernel has. */
static void forget_node(struct relay *relay, unsigned share, uint64_t node)
{
	listings_drop(&relay->listings, share, node);
	ahead_drop(&relay->ahead, share, node);
	if (relay->writes.errors)
		writes_forget(&relay->writes, share, node);
}

static void forget(struct relay *relay, unsigned share,
		   const struct fuse_in_header *head, const uint8_t *bytes,
		   size_t len)
{
	size_t at = sizeof(*head) + sizeof(struct fuse_batch_forget_in);
	struct fuse_forget_one one;

	if (head->opcode == FUSE_FORGET)
		forget_node(relay, share, head->nodeid);
	for (; head->opcode == FUSE_BATCH_FORGET && at + sizeof(one) <= len;
	     at += sizeof(one)) {
		memcpy(&one, bytes + at, sizeof(one));
		forget_node(relay, share, one.nodeid);
	}
}

void relay_fuse_ahead(struct relay *relay, unsigned share, const uint8_t *bytes,
		      size_t len)
{
	uint64_t node = ahead_node(bytes, len);

	if (!node || relay->pending.count > RELAY_AHEAD_PENDING_MAX) {
		relay_walk_take(relay, share, bytes, len);
		return;
	}
	LIST_FOR_EACH(at, &relay->pending.order) {
		const struct pending *pending =
			LIST_ENTRY(at, struct pending, order);

		if (pending->share == share &&
		    ahead_changes(pending->bytes, pending->len, node))
			return;
	}
	ahead_add(&relay->ahead, share, bytes, len);
}

static bool answer_ahead(struct relay *relay, unsigned share,
			 const uint8_t *bytes, size_t len, uint64_t unique)
{
	struct fuse_out_header head = { .unique = unique };
	struct fuse_in_header in;
	struct ahead_answer found;
	struct iovec iov[2];

	memcpy(&in, bytes, sizeof(in));
	if (!ahead_find(&relay->ahead, share, bytes, len, &found))
		return false;
	head.len = (uint32_t)(sizeof(head) + found.len);
	iov[0] = (struct iovec){ &head, sizeof(head) };
	iov[1] = (struct iovec){ (void *)(uintptr_t)found.bytes, found.len };
	if (writev(relay->shares[share].fd, iov, 2) < 0)
		log_limited(LOG_LEVEL_DEBUG, "answer: %s", strerror(errno));
	ahead_used(&relay->ahead, share, bytes, len);
	if (in.opcode == FUSE_READ)
		listings_file_given(&relay->listings, share, in.nodeid);
	return true;
}

static bool answer_absent(struct relay *relay, unsigned share,
			  const uint8_t *bytes, size_t len, uint64_t unique)
{
	struct {
		struct fuse_out_header head;
		struct fuse_entry_out entry;
	} reply = { .head = { .len = sizeof(reply), .unique = unique } };

	if (!ahead_is_absent(&relay->ahead, share, bytes, len,
			     &reply.entry.entry_valid))
		return false;
	if (write(relay->shares[share].fd, &reply, sizeof(reply)) < 0)
		log_limited(LOG_LEVEL_DEBUG, "answer: %s", strerror(errno));
	return true;
}

void relay_fuse_tell_attr(struct relay *relay, unsigned share, uint64_t unique,
			  const struct fuse_attr_out *attr)
{
	struct {
		struct fuse_out_header head;
		struct fuse_attr_out attr;
	} reply = { .head = { .len = sizeof(reply), .unique = unique },
		    .attr = *attr };

	if (write(relay->shares[share].fd, &reply, sizeof(reply)) < 0)
		log_limited(LOG_LEVEL_DEBUG, "answer: %s", strerror(errno));
}

static bool answer_attr(struct relay *relay, unsigned share,
			const struct fuse_in_header *in)
{
	struct fuse_attr_out attr;

	if (!ahead_take_attr(&relay->ahead, share, in->nodeid, &attr))
		return false;
	known_told(&relay->known, share, in->nodeid, &attr.attr, 0);
	relay_fuse_tell_attr(relay, share, in->unique, &attr);
	return true;
}

/* The server would find nothing: only user.* passes. */
static bool is_private(const uint8_t *bytes, size_t len)
{
	static const char passes[] = "user.";
	size_t at =
		sizeof(struct fuse_in_header) + sizeof(struct fuse_getxattr_in);

	return len > at && bytes[len - 1] == '\0' &&
	       strncmp((const char *)bytes + at, passes, strlen(passes)) != 0;
}

static void send_write(struct relay *relay, struct pending *pending,
		       uint8_t *room)
{
	relay_early_write(relay, pending);
	/* Somebody waits, or its way is long. */
	if (!pending->answered || pending->len > BULK_WORTH)
		relay->urgent = true;
	if (relay_bulk_send(relay, pending, room))
		pending->sent = true;
	else
		pending_delay(&relay->pending, pending);
}

static bool send_change(struct relay *relay, struct pending *pending)
{
	if (pending->opcode == FUSE_SETATTR)
		relay_early_set(relay, pending);
	else
		relay_early_remove(relay, pending);
	if (!pending->answered)
		relay->urgent = true;
	return true;
}

/* Nobody waits for it; of the first three it was found out before. */
static bool is_lazy(uint32_t opcode)
{
	return opcode == FUSE_WRITE || opcode == FUSE_SETATTR ||
	       opcode == FUSE_UNLINK || opcode == FUSE_FORGET ||
	       opcode == FUSE_BATCH_FORGET || opcode == FUSE_FLUSH ||
	       opcode == FUSE_RELEASE || opcode == FUSE_RELEASEDIR;
}

/* What was sent ahead and is about to be wrong. */
static void drop_changed(struct relay *relay, unsigned share,
			 const uint8_t *bytes, size_t len)
{
	uint64_t nodes[2];

	ahead_drop_changed(&relay->ahead, share, bytes, len);
	if (!relay->listings.count || !ahead_changed_nodes(bytes, len, nodes))
		return;
	listings_drop(&relay->listings, share, nodes[0]);
	listings_drop(&relay->listings, share, nodes[1]);
}

/* True when the request goes to the server as it is; else what goes there is
 * made in room. */
static bool take_request(struct relay *relay, unsigned share,
			 const uint8_t *bytes, size_t len, uint8_t *room)
{
	struct fuse_in_header head;
	uint64_t seconds = 0;
	bool unused;

	memcpy(&head, bytes, sizeof(head));
	unused = head.opcode == FUSE_CREATE &&
		 ahead_is_unused(&relay->ahead, share, bytes, len, &seconds);
	drop_changed(relay, share, bytes, len);
	if (head.opcode != FUSE_SETATTR)
		known_drop_changed(&relay->known, share, bytes, len);
	switch (head.opcode) {
	case FUSE_LOOKUP:
		if (answer_absent(relay, share, bytes, len, head.unique) ||
		    relay_walk_lookup(relay, share, bytes, len))
			return false;
		pending_add(&relay->pending, share, bytes, len);
		return true;
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
		if (answer_ahead(relay, share, bytes, len, head.unique) ||
		    relay_walk_list(relay, share, bytes, len))
			return false;
		pending_add(&relay->pending, share, bytes, len);
		return true;
	case FUSE_GETATTR:
		if (relay_make_open(relay, share, &head) ||
		    answer_attr(relay, share, &head) ||
		    relay_early_attr(relay, share, &head, bytes, len))
			return false;
		pending_add(&relay->pending, share, bytes, len);
		return true;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		forget(relay, share, &head, bytes, len);
		return true;
	case FUSE_GETXATTR:
		if (is_private(bytes, len)) {
			answer(relay, share, head.unique, EOPNOTSUPP);
			return false;
		}
		pending_add(&relay->pending, share, bytes, len);
		return true;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(relay, share, head.unique, 0);
		return false;
	case FUSE_INTERRUPT:
		answer(relay, share, head.unique, ENOSYS);
		return false;
	case FUSE_FLUSH:
		answer(relay, share, head.unique, ENOSYS);
		return false;
	case FUSE_SETATTR:
	case FUSE_UNLINK:
		return send_change(
			relay, pending_add(&relay->pending, share, bytes, len));
	case FUSE_WRITE:
		send_write(relay,
			   pending_add(&relay->pending, share, bytes, len),
			   room);
		return false;
	case FUSE_CREATE:
		if (unused &&
		    relay_make_file(relay, share, bytes, len, seconds, room))
			return false;
		pending_add(&relay->pending, share, bytes, len);
		return true;
	default:
		pending_add(&relay->pending, share, bytes, len);
		return true;
	}
}

static bool take_large_write(struct relay *relay, unsigned share, size_t len,
			     uint8_t *room)
{
	const uint8_t *bytes = pending_reserve(&relay->pending);
	struct fuse_in_header head;

	memcpy(&head, bytes, sizeof(head));
	if (head.opcode != FUSE_WRITE ||
	    len < RELAY_WRITE_HEAD + PENDING_LARGE_FROM)
		return false;
	drop_changed(relay, share, bytes, RELAY_WRITE_HEAD);
	send_write(relay, pending_add_reserved(&relay->pending, share, len),
		   room);
	/* The host can work on it beside the next. */
	relay_send(relay);
	return true;
}

/* What a new server has not seen yet goes first. */
static bool may_pull(struct relay *relay)
{
	return relay->connected && !relay->pending.resend &&
	       pending_has_room(&relay->pending) &&
	       stream_out_room(&relay->shared->out);
}

/*
 * Whoever asks has to tell epoll, which costs it more than the question: where
 * all questions are found by looking, it need not.
 */
static bool is_looked_at(const struct relay *relay, unsigned share)
{
	return share == relay->recent && relay->looked >= LOOKS_TO_MUTE;
}

void relay_fuse_listen(struct relay *relay)
{
	bool may = may_pull(relay);

	for (unsigned i = 0; i < relay->count; i++) {
		struct relay_share *share = &relay->shares[i];
		bool mute = !may || is_looked_at(relay, i);
		struct epoll_event event = { .events = mute ? 0 : EPOLLIN,
					     .data.u32 = i };

		if (share->fd < 0 || share->muted == mute)
			continue;
		share->muted = mute;
		epoll_ctl(relay->epoll_fd, EPOLL_CTL_MOD, share->fd, &event);
	}
}

void relay_fuse_rest(struct relay *relay)
{
	relay->looked = 0;
	relay_fuse_listen(relay);
}

static void pass_request(struct relay *relay, unsigned share,
			 const uint8_t *bytes, size_t len, uint8_t *room)
{
	struct fuse_in_header head;

	memcpy(&head, bytes, sizeof(head));
	if (!is_lazy(head.opcode))
		relay->urgent = true;
	memcpy(room + RECORD_HEADER_BYTES, bytes, len);
	stream_out_commit(&relay->shared->out, RECORD_FUSE, share, len);
}

bool relay_fuse_pull(struct relay *relay, unsigned share)
{
	struct relay_share *from = &relay->shares[share];
	struct stream_out *out = &relay->shared->out;
	bool some = false;

	for (int i = 0;
	     i < PULLS_PER_ROUND && from->readable && may_pull(relay); i++) {
		uint8_t *room = stream_out_room(out);
		/* Where a large write is kept. One plain read: a list of
		 * places is more for the kernel to go through in each look in
		 * vain. */
		uint8_t *bytes = pending_reserve(&relay->pending);
		ssize_t n = read(from->fd, bytes, RECORD_PAYLOAD_MAX);

		if (n < 0 && (errno == ENOENT || errno == EINTR))
			continue; /* was taken back meanwhile */
		if (n < 0 && errno == ENODEV)
			relay_fuse_over(relay, share);
		if (n < (ssize_t)sizeof(struct fuse_in_header)) {
			from->readable = false;
			break;
		}
		some = true;
		if (relay->recent != share)
			relay->looked = 0;
		relay->recent = share;
		if (take_large_write(relay, share, (size_t)n, room))
			continue;
		if (take_request(relay, share, bytes, (size_t)n, room))
			pass_request(relay, share, bytes, (size_t)n, room);
		if (out->end - out->start >= SEND_BYTES &&
		    out->end - out->start >= relay->hold_bytes)
			relay_send(relay);
		/* One program: it waits for us, there is hardly another. */
		if (relay->pending.count - relay->pending.answered <= 1)
			from->readable = false;
	}
	return some;
}

static void pass_answer(struct relay *relay, const struct pending *pending,
			const struct fuse_out_header *head,
			const uint8_t *bytes)
{
	struct relay_share *share = &relay->shares[pending->share];
	int error;

	if (pending->opcode == FUSE_FSYNC || pending->opcode == FUSE_FSYNCDIR) {
		error = writes_take_error(&relay->writes, pending->share,
					  pending->node);
		if (error) {
			answer(relay, pending->share, pending->unique, error);
			return;
		}
	}
	if (pending->opcode == FUSE_INIT && !head->error)
		share->initialised = true;
	if (share->fd >= 0 && write(share->fd, bytes, head->len) < 0) {
		if (errno != ENOENT)
			log_limited(LOG_LEVEL_DEBUG, "answer: %s",
				    strerror(errno));
		return;
	}
	if (pending->opcode == FUSE_READDIRPLUS && !head->error)
		relay_walk_answered(relay, pending, bytes + sizeof(*head),
				    head->len - sizeof(*head));
}

/* Both kinds begin with the node. */
static void drop_ahead(struct relay *relay, unsigned share,
		       const uint8_t *bytes, size_t len)
{
	uint64_t node;

	if (len < sizeof(struct fuse_out_header) + sizeof(node))
		return;
	memcpy(&node, bytes + sizeof(struct fuse_out_header), sizeof(node));
	ahead_drop(&relay->ahead, share, node);
	listings_drop(&relay->listings, share, node);
	known_drop(&relay->known, share, node);
}

bool relay_fuse_reply(struct relay *relay, unsigned share, const uint8_t *bytes,
		      size_t len)
{
	struct record record = { .len = (uint32_t)len,
				 .type = RECORD_FUSE,
				 .share = (uint8_t)share };
	struct fuse_out_header head;
	struct pending *pending;
	uint64_t node;
	bool set;

	if (len < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.len != len || head.error < -4095 ||
	    (head.unique && head.error > 0))
		return false;
	if (!head.unique) {
		drop_ahead(relay, share, bytes, len);
		relay_notify(relay, &record, bytes);
		return true;
	}
	pending = pending_find(&relay->pending, share, head.unique);
	if (!pending)
		return true;
	relay_bulk_answered(relay, pending);
	set = pending->answered && pending->opcode == FUSE_SETATTR &&
	      !head.error;
	node = pending->node;
	if (pending->answered) {
		relay_early_done(relay, pending, &head, bytes);
	} else {
		relay_early_learn(relay, pending, &head, bytes);
		pass_answer(relay, pending, &head, bytes);
	}
	pending_remove(&relay->pending, pending);
	if (set)
		relay_early_keep(relay, share, node, bytes, len);
	return true;
}

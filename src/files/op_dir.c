/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_dir.c - READDIR, READDIRPLUS
 *
 * A folder is read by position alone, through the node's own descriptor; the
 * position is the host file system's cookie.
 */
#include "files/ops.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "files/entry.h"
#include "files/held.h"

/* What getdents64() writes. */
struct host_entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* Each folder among them may take a descriptor within one request. */
#define PLUS_MAX (128U << 10)
#define ENTRY_LEAST 288 /* a name of 255 bytes and what goes with it */

/*
 * What only the guest has comes last (held.h), at positions that no file system
 * uses: the last of a hash tree but for its end.
 */
#define OWN_FIRST 0x7fffffff00000000ULL
#define OWN_LAST 0x7fffffff7fffffffULL

struct listing {
	struct op *op;
	int fd;
	bool has_own;
	size_t limit; /* of the body that the guest has room for */
	uint64_t off; /* behind the last entry that was added */
	bool full;
	int failed; /* why there is no more */
};

enum added {
	ADDED,
	SKIPPED,
	FULL,
	FAILED,
};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* By number alone, which is right for all but the root of a mount. */
static bool maybe_absent(struct op *op, const struct host_entry *entry)
{
	for (size_t i = 0; i < op->server->absent_count; i++) {
		if (op->server->absent[i].ino == entry->ino)
			return true;
	}
	return unseen_maybe(&op->server->unseen, entry->ino);
}

static struct reply_dirent shown(struct op *op, const struct host_entry *entry)
{
	return (struct reply_dirent){
		.ino = share_ino(op->share, op->node->key.dev, entry->ino),
		.off = (uint64_t)entry->off,
		.type = entry->type,
		.name = entry->name,
		.name_len = strlen(entry->name),
	};
}

/*
 * Hidden or gone since: as if it were not there. What failed otherwise must not
 * look like that: the listing ends here, and the question for more gets the
 * error.
 */
static enum added leave_out(struct listing *listing, int why)
{
	if (why > 0 || why == -ENOENT)
		return SKIPPED;
	listing->failed = why;
	return FAILED;
}

static enum added add_plain(struct listing *listing,
			    const struct host_entry *entry)
{
	struct op *op = listing->op;
	struct reply_dirent dirent = shown(op, entry);
	struct statx st;
	int failed;

	if (listing->has_own && !is_dots(entry->name)) {
		failed = entry_stat(op, op->node, entry->name, &st);
		if (failed)
			return leave_out(listing, failed);
		dirent.type = IFTODT(st.stx_mode);
	} else if (!is_dots(entry->name)) {
		mode_t type = entry->type == DT_DIR ? S_IFDIR : S_IFREG;

		if (entry->type == DT_UNKNOWN)
			type = 0;
		failed = policy_hides(op->server, op->node, entry->name, type);
		if (!failed && maybe_absent(op, entry))
			failed = entry_stat(op, op->node, entry->name, &st);
		if (failed)
			return leave_out(listing, failed);
	}
	return reply_dirent(op->reply, listing->limit, &dirent) ? ADDED : FULL;
}

static enum added add_plus(struct listing *listing,
			   const struct host_entry *entry)
{
	struct op *op = listing->op;
	struct reply_dirent dirent = shown(op, entry);
	struct fuse_entry_out out = { 0 };
	struct node *node;
	struct statx st;
	int failed;

	/* No reference may be given that is not delivered. */
	if (!reply_fits_direntplus(op->reply, listing->limit, dirent.name_len))
		return FULL;
	if (!is_dots(entry->name)) {
		failed = entry_stat(op, op->node, entry->name, &st);
		if (failed)
			return leave_out(listing, failed);
		/* Without a node the guest looks it up when it needs it. */
		if (entry_give(op, op->node, entry->name, &st, &out, &node) ==
		    0) {
			dirent.ino = out.attr.ino;
			ahead_listed(op, node, &st);
		}
	}
	reply_direntplus(op->reply, listing->limit, &out, &dirent);
	return ADDED;
}

typedef enum added add_fn(struct listing *listing,
			  const struct host_entry *entry);

/* One getdents64(); returns how many bytes it gave, or a negative errno. */
static int add_some(struct listing *listing, size_t ask, add_fn *add,
		    size_t *added)
{
	uint8_t *entries = listing->op->server->entries;
	long n = syscall(SYS_getdents64, listing->fd, entries, ask);

	if (n < 0)
		return -errno;
	for (long at = 0; at < n;) {
		const struct host_entry *entry = (const void *)(entries + at);
		enum added result = add(listing, entry);

		listing->full = result == FULL;
		if (listing->full)
			return 0;
		if (result == FAILED)
			return listing->failed;
		if (result == ADDED) {
			listing->off = (uint64_t)entry->off;
			++*added;
		}
		at += entry->len;
	}
	return (int)n;
}

struct own_listing {
	struct listing *listing;
	add_fn *add;
};

static bool add_own(void *ctx, const char *name, mode_t type, uint32_t position)
{
	struct own_listing *own = ctx;
	struct {
		struct host_entry head;
		char name[NODE_NAME_MAX + 1];
	} entry = { .head = { .ino = OWN_FIRST + position,
			      .off = (int64_t)(OWN_FIRST + position + 1),
			      .type = IFTODT(type) } };

	text_copy(entry.head.name, sizeof(entry.name), name);
	enum added result = own->add(own->listing, &entry.head);

	return result != FULL && result != FAILED;
}

static int list_own(struct listing *listing, uint64_t offset, add_fn *add)
{
	struct own_listing own = { .listing = listing, .add = add };
	uint32_t from = offset >= OWN_FIRST && offset <= OWN_LAST
				? (uint32_t)(offset - OWN_FIRST)
				: 0;

	return held_list(listing->op->server, listing->op->node, from, add_own,
			 &own);
}

static int list(struct op *op, size_t entry_cost, size_t limit, add_fn *add)
{
	const struct fuse_read_in *in = &op->request->in.read;
	struct listing listing = { .op = op,
				   .limit = in->size < limit ? in->size
							     : limit };
	size_t added = 0, ask;
	int n;

	if (in->size > FUSE_WRITE_MAX || in->offset > INT64_MAX)
		return -EINVAL;
	if (op->node->type != S_IFDIR)
		return -ENOTDIR;
	watch_folder(op->server, op->node);
	listing.has_own = held_lists_own(op->server, op->node);
	if (in->offset >= OWN_FIRST && in->offset <= OWN_LAST)
		return list_own(&listing, in->offset, add);
	listing.fd = node_fds_data(&op->server->fds, op->node, NODE_FD_READ);
	if (listing.fd < 0)
		return listing.fd;
	if (lseek(listing.fd, (off_t)in->offset, SEEK_SET) < 0)
		return -errno;
	/* About as many as will fit: the rest would be read twice. */
	ask = listing.limit / entry_cost * 32 + ENTRY_LEAST;
	if (ask > SERVER_ENTRIES_BYTES)
		ask = SERVER_ENTRIES_BYTES;
	ahead_list(op, in->offset == 0);
	/* All of one turn may be hidden, which must not look like the end. */
	do
		n = add_some(&listing, ask, add, &added);
	while (n > 0);
	if (added)
		ahead_listed_to(op, listing.off);
	/*
	 * ext4 takes a new descriptor's first position for where names begin
	 * when it is that of the end: rewound, the folder would look empty.
	 */
	if (n == 0 && !added)
		node_fds_drop(&op->server->fds, op->node);
	if (n == 0 && !added && listing.has_own)
		return list_own(&listing, 0, add);
	if (n == 0 && added && !listing.full && !listing.has_own)
		ahead_end(op, listing.off);
	return n < 0 && !added ? n : 0;
}

int op_readdir(struct op *op)
{
	return list(op, 40, FUSE_WRITE_MAX, add_plain);
}

int op_readdirplus(struct op *op)
{
	int failed = list(op, sizeof(struct fuse_entry_out) + 40, PLUS_MAX,
			  add_plus);

	if (!failed && !op->request->in.read.offset)
		walk_listed(op);
	/* What is sent ahead the guest has not seen yet. */
	if (!failed && !op->server->walk.sending)
		spare_listed(op->server, op->share_index, op->request->node);
	return failed;
}

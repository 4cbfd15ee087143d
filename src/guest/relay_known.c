/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_known.c - files that can be changed without waiting for the server
 */
#include "guest/relay_known.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/record.h"

/* The kernel asks twice for each name, for the way and for the change. */
#define CHANGING_NS 10000000U
#define NSEC_MAX 1000000000U
#define TIMES (FATTR_ATIME | FATTR_MTIME | FATTR_ATIME_NOW | FATTR_MTIME_NOW)
/* What an answer can be made up for; the rest says nothing of the file. */
#define SETS                                                                   \
	(FATTR_MODE | FATTR_UID | FATTR_GID | TIMES | FATTR_CTIME | FATTR_FH | \
	 FATTR_LOCKOWNER | FATTR_KILL_SUIDGID)

void known_clear(struct known_table *table)
{
	memset(table, 0, sizeof(*table));
}

static struct known *slot_of(struct known_table *table, unsigned share,
			     uint64_t node)
{
	return &table->slots[record_bucket(share, node, KNOWN_SLOTS)];
}

static struct known *folder_slot_of(struct known_table *table, unsigned share,
				    uint64_t node)
{
	return &table->folders[record_bucket(share, node, KNOWN_FOLDERS)];
}

struct known *known_find(struct known_table *table, unsigned share,
			 uint64_t node)
{
	struct known *slot = slot_of(table, share, node);

	if (node && slot->node == node && slot->share == share)
		return slot;
	slot = folder_slot_of(table, share, node);
	return node && slot->node == node && slot->share == share ? slot : NULL;
}

static struct known *take(struct known_table *table, unsigned share,
			  uint64_t node)
{
	struct known *slot = slot_of(table, share, node);

	*slot = (struct known){ .node = node, .share = (uint8_t)share };
	return slot;
}

static struct known *take_folder(struct known_table *table, unsigned share,
				 uint64_t node)
{
	struct known *slot = folder_slot_of(table, share, node);

	/* A change of it had it taken for a file. */
	known_drop(table, share, node);
	*slot = (struct known){ .node = node,
				.share = (uint8_t)share,
				.is_folder = true };
	return slot;
}

struct known *known_made(struct known_table *table, unsigned share,
			 uint64_t folder, const struct fuse_entry_out *entry)
{
	struct known *slot = take(table, share, entry->nodeid);

	slot->folder = folder;
	slot->attr = entry->attr;
	slot->told = entry->attr.ctime;
	/* One more name may be changed where nobody looks. */
	slot->has_attr = entry->attr.nlink == 1;
	return slot;
}

void known_answered(struct known_table *table, unsigned share, uint64_t folder,
		    const void *body, size_t len)
{
	struct fuse_entry_out entry;
	struct known *slot;

	if (len < sizeof(entry))
		return;
	memcpy(&entry, body, sizeof(entry));
	if (!entry.nodeid)
		return;
	if (S_ISREG(entry.attr.mode)) {
		known_made(table, share, folder, &entry);
	} else if (S_ISDIR(entry.attr.mode)) {
		slot = take_folder(table, share, entry.nodeid);
		slot->attr = entry.attr;
		slot->has_attr = true;
	}
}

void known_changed(struct known_table *table, unsigned share, uint64_t node)
{
	if (node && !known_find(table, share, node))
		take(table, share, node);
}

void known_removed(struct known_table *table, unsigned share, uint64_t folder)
{
	struct known *slot = known_find(table, share, folder);

	if (!folder)
		return;
	if (!slot || !slot->is_folder)
		slot = take_folder(table, share, folder);
	slot->may_lose = true;
}

void known_told(struct known_table *table, unsigned share, uint64_t node,
		const struct fuse_attr *attr, uint64_t second)
{
	struct known *slot = known_find(table, share, node);

	if (!slot)
		return;
	slot->told = second;
	if (!slot->is_folder)
		return;
	slot->attr = *attr;
	slot->has_attr = true;
}

void known_drop(struct known_table *table, unsigned share, uint64_t node)
{
	struct known *slot = known_find(table, share, node);

	if (slot)
		slot->node = 0;
}

static void forget_attr(struct known_table *table, unsigned share,
			uint64_t node)
{
	struct known *slot = known_find(table, share, node);

	if (slot)
		slot->has_attr = false;
}

/* Names in it came or went, and with them names of files. */
static void drop_folder(struct known_table *table, unsigned share,
			uint64_t folder)
{
	for (unsigned i = 0; i < KNOWN_SLOTS; i++) {
		struct known *slot = &table->slots[i];

		if (slot->node && slot->folder == folder &&
		    slot->share == share)
			slot->has_attr = false;
	}
}

static uint64_t first_node(const void *request, size_t len)
{
	uint64_t node = 0;

	if (len >= sizeof(struct fuse_in_header) + sizeof(node))
		memcpy(&node,
		       (const uint8_t *)request + sizeof(struct fuse_in_header),
		       sizeof(node));
	return node;
}

static uint64_t copy_target(const void *request, size_t len)
{
	struct fuse_copy_file_range_in in;

	if (len < sizeof(struct fuse_in_header) + sizeof(in))
		return 0;
	memcpy(&in, (const uint8_t *)request + sizeof(struct fuse_in_header),
	       sizeof(in));
	return in.nodeid_out;
}

void known_drop_changed(struct known_table *table, unsigned share,
			const void *request, size_t len)
{
	struct fuse_in_header head;

	memcpy(&head, request, sizeof(head));
	switch (head.opcode) {
	case FUSE_UNLINK:
		drop_folder(table, share, head.nodeid);
		break;
	case FUSE_RENAME:
	case FUSE_RENAME2:
		/* Both begin with the other folder. */
		drop_folder(table, share, head.nodeid);
		drop_folder(table, share, first_node(request, len));
		forget_attr(table, share, head.nodeid);
		forget_attr(table, share, first_node(request, len));
		break;
	case FUSE_LINK:
		known_drop(table, share, first_node(request, len));
		break;
	case FUSE_COPY_FILE_RANGE:
		known_drop(table, share, copy_target(request, len));
		break;
	case FUSE_SETATTR:
	case FUSE_FALLOCATE:
	case FUSE_SETXATTR:
	case FUSE_REMOVEXATTR:
	/* A folder in it counts as one of its names. */
	case FUSE_MKDIR:
	case FUSE_RMDIR:
		forget_attr(table, share, head.nodeid);
		break;
	default:
		break;
	}
}

void known_write(struct known *known, const struct fuse_write_in *in)
{
	uint64_t end = in->offset + in->size;

	known->written = true;
	/* Only the server knows where the end is. */
	if ((in->flags & O_APPEND) || end < in->offset)
		known->has_attr = false;
	else if (end > known->attr.size)
		known->attr.size = end;
}

static void set_time(uint64_t *seconds, uint32_t *nanoseconds,
		     const struct timespec *value)
{
	*seconds = (uint64_t)value->tv_sec;
	*nanoseconds = (uint32_t)value->tv_nsec;
}

static void set_times(struct fuse_attr *attr, const struct fuse_setattr_in *in,
		      const struct timespec *now)
{
	struct timespec atime = { .tv_sec = (time_t)in->atime,
				  .tv_nsec = in->atimensec };
	struct timespec mtime = { .tv_sec = (time_t)in->mtime,
				  .tv_nsec = in->mtimensec };

	if (in->valid & (FATTR_ATIME | FATTR_ATIME_NOW))
		set_time(&attr->atime, &attr->atimensec,
			 in->valid & FATTR_ATIME_NOW ? now : &atime);
	if (in->valid & (FATTR_MTIME | FATTR_MTIME_NOW))
		set_time(&attr->mtime, &attr->mtimensec,
			 in->valid & FATTR_MTIME_NOW ? now : &mtime);
	set_time(&attr->ctime, &attr->ctimensec, now);
}

bool known_set(struct known *known, const struct fuse_setattr_in *in,
	       const struct timespec *now, struct fuse_attr_out *out)
{
	struct fuse_attr *attr = &known->attr;

	if (!known->has_attr || (in->valid & ~(uint32_t)SETS) ||
	    in->atimensec >= NSEC_MAX || in->mtimensec >= NSEC_MAX)
		return false;
	/* Another owner is refused, or is not what it becomes. */
	if (((in->valid & FATTR_UID) && in->uid != attr->uid) ||
	    ((in->valid & FATTR_GID) && in->gid != attr->gid))
		return false;
	if ((in->valid & FATTR_MODE) && (in->mode & 07000))
		return false;
	if (in->valid & FATTR_MODE)
		attr->mode = (attr->mode & S_IFMT) | (in->mode & 0777);
	set_times(attr, in, now);
	*out = (struct fuse_attr_out){ .attr = *attr };
	return true;
}

bool known_attr(const struct known *known, const struct timespec *now,
		struct fuse_attr_out *out)
{
	if (!known->is_folder || !known->has_attr || !known->changing)
		return false;
	*out = (struct fuse_attr_out){ .attr = known->attr,
				       .attr_valid_nsec = CHANGING_NS };
	set_time(&out->attr.mtime, &out->attr.mtimensec, now);
	set_time(&out->attr.ctime, &out->attr.ctimensec, now);
	return true;
}

bool known_take_size(struct known *known, const struct timespec *now)
{
	bool may = !known->is_folder && known->written &&
		   known->told == (uint64_t)now->tv_sec;

	known->written = false;
	return may;
}

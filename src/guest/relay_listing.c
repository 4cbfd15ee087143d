/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_listing.c - listings of folders that nobody has asked for yet
 */
#include "guest/relay_listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proto/cursor.h"
#include "proto/record.h"

#define NAME_BYTES_MAX 255

struct listing_entry {
	struct listing_entry *next; /* of the same bucket */
	struct listing *listing;
	uint64_t node;
	uint32_t at; /* of its fuse_entry_out */
};

struct listing {
	struct list order;
	struct listing *next;          /* of the same bucket */
	struct listing_entry *entries; /* owned */
	uint8_t *bytes;                /* owned */
	uint64_t folder, seconds;
	uint64_t end;     /* the kernel asks there for what follows the last */
	uint64_t until_s; /* names alone, good for so long; 0: never given */
	uint32_t len, count;
	uint8_t share;
	bool whole;   /* what is not in it is not there */
	bool lasting; /* all of it may be believed for long */
	bool used;
};

struct parsed {
	uint64_t folder;
	const uint8_t *body;
	size_t len;
	bool whole;
};

/* One entry of a body; 0: there is none, or it is cut off. */
static size_t entry_at(const uint8_t *body, size_t len, size_t at,
		       struct fuse_entry_out *out, struct fuse_dirent *dirent)
{
	size_t whole;

	if (len - at < FUSE_NAME_OFFSET_DIRENTPLUS)
		return 0;
	memcpy(out, body + at, sizeof(*out));
	memcpy(dirent, body + at + sizeof(*out), FUSE_NAME_OFFSET);
	if (!dirent->namelen || dirent->namelen > NAME_BYTES_MAX)
		return 0;
	whole = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS +
				  dirent->namelen);
	return len - at < whole ? 0 : whole;
}

/* How many entries have a node; -1: it is no listing. */
static int count_entries(const uint8_t *body, size_t len)
{
	struct fuse_dirent dirent;
	struct fuse_entry_out out;
	size_t step;
	int count = 0;

	for (size_t at = 0; at < len; at += step) {
		step = entry_at(body, len, at, &out, &dirent);
		if (!step)
			return -1;
		count += out.nodeid != 0;
	}
	return count;
}

static int parse(const void *payload, size_t len, struct parsed *parsed)
{
	struct cursor c = cursor_over(payload, len);
	uint32_t opcode = cursor_u32(&c), flags = cursor_u32(&c);

	parsed->folder = cursor_u64(&c);
	if (cursor_u64(&c) != 0 || c.bad || opcode != FUSE_READDIRPLUS ||
	    flags > RECORD_LISTING_WHOLE || !parsed->folder)
		return -1;
	parsed->whole = flags & RECORD_LISTING_WHOLE;
	parsed->len = cursor_left(&c);
	parsed->body = cursor_bytes(&c, parsed->len);
	return parsed->len <= LISTING_LEN_MAX ? 0 : -1;
}

void listings_init(struct listings *listings)
{
	*listings = (struct listings){ 0 };
	list_init(&listings->order);
	list_init(&listings->owed);
}

static struct listing **bucket_of(struct listings *listings, unsigned share,
				  uint64_t folder)
{
	return &listings->buckets[record_bucket(share, folder,
						LISTING_BUCKETS)];
}

static struct listing_entry **entries_of(struct listings *listings,
					 unsigned share, uint64_t node)
{
	return &listings->entries[record_bucket(share, node,
						LISTING_ENTRY_BUCKETS)];
}

static size_t cost(const struct listing *listing)
{
	return sizeof(*listing) + listing->len +
	       listing->count * sizeof(*listing->entries);
}

static void release(struct listing *listing)
{
	free(listing->entries);
	free(listing->bytes);
	free(listing);
}

static void unchain_entry(struct listings *listings,
			  struct listing_entry *entry)
{
	struct listing_entry **link =
		entries_of(listings, entry->listing->share, entry->node);

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
}

/* From where it is found. */
static void take_out(struct listings *listings, struct listing *listing)
{
	struct listing **link =
		bucket_of(listings, listing->share, listing->folder);

	while (*link != listing)
		link = &(*link)->next;
	*link = listing->next;
	for (uint32_t i = 0; i < listing->count; i++)
		unchain_entry(listings, &listing->entries[i]);
	list_remove(&listing->order);
	listings->bytes -= cost(listing);
	listings->count--;
}

static void owe(struct listings *listings, struct listing *listing)
{
	take_out(listings, listing);
	list_append(&listings->owed, &listing->order);
}

void listings_clear(struct listings *listings)
{
	while (listings->count)
		owe(listings,
		    LIST_ENTRY(listings->order.next, struct listing, order));
	listings->used_count = 0;
}

void listings_release(struct listings *listings)
{
	listings_clear(listings);
	LIST_FOR_EACH(node, &listings->owed) {
		list_remove(node);
		release(LIST_ENTRY(node, struct listing, order));
	}
}

static struct listing *find(struct listings *listings, unsigned share,
			    uint64_t folder)
{
	struct listing *listing = *bucket_of(listings, share, folder);

	while (listing &&
	       (listing->folder != folder || listing->share != share))
		listing = listing->next;
	return listing;
}

static bool is_lasting(const struct fuse_entry_out *out)
{
	return out->entry_valid >= LISTING_LASTING_S &&
	       out->attr_valid >= LISTING_LASTING_S;
}

static void find_entries(struct listing *listing)
{
	struct fuse_dirent dirent;
	struct fuse_entry_out out;
	uint32_t found = 0;

	listing->lasting = listing->count > 0;
	for (size_t at = 0; at < listing->len;) {
		size_t step = entry_at(listing->bytes, listing->len, at, &out,
				       &dirent);

		if (out.nodeid) {
			listing->seconds = out.entry_valid;
			listing->lasting &= is_lasting(&out);
			listing->entries[found++] = (struct listing_entry){
				.listing = listing,
				.node = out.nodeid,
				.at = (uint32_t)at,
			};
		}
		listing->end = dirent.off;
		at += step;
	}
}

/* NULL: it is none. */
static struct listing *make(const struct parsed *parsed, unsigned share)
{
	struct listing *listing = xcalloc(1, sizeof(*listing));
	int count;

	listing->folder = parsed->folder;
	listing->share = (uint8_t)share;
	listing->whole = parsed->whole;
	listing->len = (uint32_t)parsed->len;
	/* It may lie in memory that is not ours: first a copy, then a look. */
	listing->bytes = xmalloc(parsed->len + 1);
	memcpy(listing->bytes, parsed->body, parsed->len);
	count = count_entries(listing->bytes, listing->len);
	if (count < 0) {
		release(listing);
		return NULL;
	}
	listing->count = (uint32_t)count;
	listing->entries =
		xcalloc(listing->count + 1, sizeof(*listing->entries));
	find_entries(listing);
	return listing;
}

static void put_in(struct listings *listings, struct listing *listing)
{
	struct listing **bucket =
		bucket_of(listings, listing->share, listing->folder);

	listing->next = *bucket;
	*bucket = listing;
	for (uint32_t i = 0; i < listing->count; i++) {
		struct listing_entry *entry = &listing->entries[i];
		struct listing_entry **entries =
			entries_of(listings, listing->share, entry->node);

		entry->next = *entries;
		*entries = entry;
	}
	list_append(&listings->order, &listing->order);
	listings->bytes += cost(listing);
	listings->count++;
}

/* In the place of the one that was there, and of the oldest ones. */
static void replace(struct listings *listings, struct listing *listing)
{
	struct listing *old = find(listings, listing->share, listing->folder);

	if (old)
		owe(listings, old);
	while (listings->count && (listings->bytes > LISTING_BYTES_MAX ||
				   listings->count >= LISTING_COUNT_MAX))
		owe(listings,
		    LIST_ENTRY(listings->order.next, struct listing, order));
	put_in(listings, listing);
}

bool listings_add(struct listings *listings, unsigned share,
		  const void *payload, size_t len, bool wanted)
{
	struct listing *listing;
	struct parsed parsed;

	if (parse(payload, len, &parsed) < 0)
		return false;
	listing = make(&parsed, share);
	if (!listing)
		return false;
	if (wanted)
		replace(listings, listing);
	else
		list_append(&listings->owed, &listing->order);
	return true;
}

/* Without a node an entry is a name to the kernel, and no more. */
static void keep_names(struct listing *listing, uint64_t now_s)
{
	for (uint32_t i = 0; i < listing->count; i++)
		memset(listing->bytes + listing->entries[i].at, 0,
		       sizeof(struct fuse_entry_out));
	listing->until_s = now_s + listing->seconds / 2;
}

void listings_keep(struct listings *listings, unsigned share,
		   const void *payload, size_t len, uint64_t now_s)
{
	struct listing *listing;
	struct parsed parsed;

	if (parse(payload, len, &parsed) < 0)
		return;
	listing = make(&parsed, share);
	if (!listing)
		return;
	if (!listing->lasting) {
		release(listing);
		return;
	}
	keep_names(listing, now_s);
	replace(listings, listing);
}

bool listing_tells_of(const void *payload, size_t len, uint64_t node)
{
	struct fuse_dirent dirent;
	struct fuse_entry_out out;
	struct parsed parsed;
	size_t step = 1;

	if (parse(payload, len, &parsed) < 0)
		return false;
	if (parsed.folder == node)
		return true;
	for (size_t at = 0; at < parsed.len && step; at += step) {
		step = entry_at(parsed.body, parsed.len, at, &out, &dirent);
		if (step && out.nodeid == node)
			return true;
	}
	return false;
}

/* The listing, or that nothing follows it. */
static bool find_part(const struct listing *listing,
		      const struct fuse_read_in *in, const uint8_t **bytes,
		      size_t *len)
{
	bool rest = in->offset && in->offset == listing->end &&
		    listing->until_s && listing->whole;

	if (!rest && (in->offset || in->size < listing->len))
		return false;
	*bytes = listing->bytes;
	*len = rest ? 0 : listing->len;
	return true;
}

bool listings_find(struct listings *listings, unsigned share,
		   const void *request, size_t len, uint64_t now_s,
		   const uint8_t **bytes, size_t *answer_len)
{
	struct fuse_in_header head;
	struct fuse_read_in in;
	struct listing *listing;

	if (!listings->count || len != sizeof(head) + sizeof(in))
		return false;
	memcpy(&head, request, sizeof(head));
	memcpy(&in, (const uint8_t *)request + sizeof(head), sizeof(in));
	listing = find(listings, share, head.nodeid);
	if (!listing || head.opcode != FUSE_READDIRPLUS)
		return false;
	if (listing->until_s && now_s >= listing->until_s) {
		owe(listings, listing);
		return false;
	}
	return find_part(listing, &in, bytes, answer_len);
}

/* Of more than fit nobody is told: then less is sent ahead. */
static void note_node(struct listings *listings, unsigned share, uint64_t node)
{
	if (listings->used_count < LISTING_USED_MAX)
		listings->used[listings->used_count++] =
			(struct listing_used){ node, share };
}

static void note_use(struct listings *listings, struct listing *listing)
{
	if (!listing->used)
		note_node(listings, listing->share, listing->folder);
	listing->used = true;
}

void listings_file_given(struct listings *listings, unsigned share,
			 uint64_t node)
{
	if (listings->files_used++ % LISTING_TELL_FILE == 0)
		note_node(listings, share, node);
}

void listings_given(struct listings *listings, unsigned share, uint64_t folder,
		    uint64_t now_s, bool taken)
{
	struct listing *listing = find(listings, share, folder);

	if (!listing || listing->until_s)
		return;
	if (!taken) {
		owe(listings, listing);
		return;
	}
	note_use(listings, listing);
	keep_names(listing, now_s);
}

enum listing_found listings_lookup(struct listings *listings, unsigned share,
				   const void *request, size_t len,
				   struct fuse_entry_out *out)
{
	const char *name =
		(const char *)request + sizeof(struct fuse_in_header);
	struct fuse_dirent dirent;
	struct fuse_in_header head;
	struct listing *listing;
	size_t name_len, step;

	if (!listings->count || len <= sizeof(head) ||
	    ((const char *)request)[len - 1])
		return LISTING_UNKNOWN;
	memcpy(&head, request, sizeof(head));
	name_len = strlen(name);
	listing = find(listings, share, head.nodeid);
	/* Whether a name is there the kernel knows as long as that one does. */
	if (!listing || listing->until_s)
		return LISTING_UNKNOWN;
	for (size_t at = 0; at < listing->len; at += step) {
		const uint8_t *entry = listing->bytes + at;

		step = entry_at(listing->bytes, listing->len, at, out, &dirent);
		if (dirent.namelen != name_len ||
		    memcmp(entry + FUSE_NAME_OFFSET_DIRENTPLUS, name,
			   name_len) != 0)
			continue;
		/* It is given once. */
		memset(listing->bytes + at, 0, sizeof(*out));
		note_use(listings, listing);
		return out->nodeid ? LISTING_THERE : LISTING_UNKNOWN;
	}
	if (!listing->whole || !listing->seconds)
		return LISTING_UNKNOWN;
	*out = (struct fuse_entry_out){ .entry_valid = listing->seconds };
	return LISTING_ABSENT;
}

void listings_drop(struct listings *listings, unsigned share, uint64_t node)
{
	struct listing *listing;
	struct listing_entry *entry;

	if (!listings->count || !node)
		return;
	listing = find(listings, share, node);
	if (listing)
		owe(listings, listing);
	do {
		entry = *entries_of(listings, share, node);
		while (entry &&
		       (entry->node != node || entry->listing->share != share))
			entry = entry->next;
		if (entry)
			owe(listings, entry->listing);
	} while (entry);
}

size_t listings_forget(struct listings *listings, void *room, size_t size,
		       unsigned *share)
{
	struct fuse_in_header head = { .opcode = FUSE_BATCH_FORGET };
	struct fuse_batch_forget_in in = { 0 };
	size_t at = sizeof(head) + sizeof(in);
	struct fuse_entry_out out;
	struct listing *listing;

	while (!list_empty(&listings->owed) && !in.count) {
		listing =
			LIST_ENTRY(listings->owed.next, struct listing, order);
		list_remove(&listing->order);
		*share = listing->share;
		for (uint32_t i = 0; i < listing->count; i++) {
			struct fuse_forget_one one = { .nlookup = 1 };

			memcpy(&out, listing->bytes + listing->entries[i].at,
			       sizeof(out));
			one.nodeid = out.nodeid;
			/* Not if the kernel was given it. */
			if (!one.nodeid || size - at < sizeof(one))
				continue;
			memcpy((uint8_t *)room + at, &one, sizeof(one));
			at += sizeof(one);
			in.count++;
		}
		release(listing);
	}
	if (!in.count)
		return 0;
	head.len = (uint32_t)at;
	memcpy(room, &head, sizeof(head));
	memcpy((uint8_t *)room + sizeof(head), &in, sizeof(in));
	return at;
}

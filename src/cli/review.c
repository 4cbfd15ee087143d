/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review.c - what the guard of a sandbox holds back, against the host's files
 */
#include "cli/review.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/review_internal.h"
#include "cli/store.h"
#include "tree/tree_open.h"

#define DEPTH_MAX 128
#define SHOWN_BYTES_MAX (16U << 20)

const char *const review_change_names[REVIEW_CHANGES] = {
	[REVIEW_ADDED] = "added",
	[REVIEW_CHANGED] = "changed",
	[REVIEW_REMOVED] = "removed",
};

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define AUTO_DIR __attribute__((cleanup(close_dir)))

int review_open_shadow(const struct review *review, size_t share)
{
	char path[64];

	text_format(path, sizeof(path), "files/shadow/%016llx",
		    (unsigned long long)text_hash(
			    review->sandbox->record.shares.items[share].host));
	return tree_open(review->sandbox->folder, path,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

int review_open_host(const struct review *review, size_t share,
		     struct error *err)
{
	const char *host = review->sandbox->record.shares.items[share].host;
	int fd = fileio_open_real(host, O_RDONLY | O_DIRECTORY);

	return fd < 0 ? tree_error(err, errno, host) : fd;
}

static struct review_item *add(struct review_item **items, size_t *count,
			       size_t share, const char *path)
{
	*items = xrealloc(*items, (*count + 1) * sizeof(**items));
	(*items)[*count] =
		(struct review_item){ .share = share, .path = xstrdup(path) };
	return &(*items)[(*count)++];
}

struct walk {
	struct review *review;
	size_t share;
	unsigned seen;
	char path[PATH_MAX];
};

static void walk_folder(struct walk *walk, int folder, size_t len,
			unsigned depth);

static void walk_entry(struct walk *walk, int folder, const char *name,
		       size_t len, unsigned depth)
{
	struct review *review = walk->review;
	size_t size = strlen(name);
	struct stat st;

	if (depth == DEPTH_MAX || len + size + 2 > sizeof(walk->path) ||
	    ++walk->seen > REVIEW_ITEMS_MAX) {
		review->cut = true;
		return;
	}
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (len)
		walk->path[len++] = '/';
	memcpy(walk->path + len, name, size + 1);
	if (S_ISDIR(st.st_mode)) {
		AUTO_CLOSE int next = tree_open(
			folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

		if (next >= 0)
			walk_folder(walk, next, len + size, depth + 1);
	} else if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ||
		   S_ISSOCK(st.st_mode)) {
		add(&review->held, &review->held_count, walk->share,
		    walk->path);
	}
}

static void walk_folder(struct walk *walk, int folder, size_t len,
			unsigned depth)
{
	AUTO_CLOSE int copy = fcntl(folder, F_DUPFD_CLOEXEC, 3);
	AUTO_DIR DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!dir)
		return;
	copy = -1;
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		walk_entry(walk, folder, entry->d_name, len, depth);
		walk->path[len] = '\0';
	}
}

static bool same(const struct review_version *a, const struct review_version *b)
{
	mode_t mask = S_IFMT | (S_ISREG(a->st.st_mode) ? 0777 : 0);

	return !a->too_big && !b->too_big &&
	       (a->st.st_mode & mask) == (b->st.st_mode & mask) &&
	       a->buffer.len == b->buffer.len &&
	       (!a->buffer.len ||
		!memcmp(a->buffer.data, b->buffer.data, a->buffer.len));
}

/* Finds out what the guest's version means; false: nothing. */
static int judge(const struct review *review, struct review_item *item,
		 struct error *err)
{
	AUTO_VERSION struct review_version guest = REVIEW_VERSION_INIT;
	AUTO_VERSION struct review_version host = REVIEW_VERSION_INIT;

	if (review_read_guest(review, item, &guest, err) < 0 ||
	    review_read_host(review, item, &host, err) < 0)
		return -1;
	item->st = guest.st;
	if (S_ISSOCK(guest.st.st_mode)) {
		item->change = REVIEW_REMOVED;
		item->st = host.st;
		return host.st.st_mode != 0;
	}
	item->change = host.st.st_mode ? REVIEW_CHANGED : REVIEW_ADDED;
	return guest.st.st_mode && !same(&guest, &host);
}

static int judge_all(struct review *review, struct error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < review->held_count; i++) {
		int counts = judge(review, &review->held[i], err);

		if (counts > 0) {
			struct review_item keep = review->held[i];

			review->held[i] = review->held[kept];
			review->held[kept++] = keep;
		} else if (counts < 0) {
			return -1;
		}
	}
	while (review->held_count > kept)
		free(review->held[--review->held_count].path);
	return 0;
}

/* Plain components only: it is joined to paths later. */
static bool is_plain_path(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (!len || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len;
		if (*path && !*++path)
			return false;
	}
	return true;
}

/* What was removed again runs nowhere; what cannot be looked at is shown. */
static bool is_gone(const struct review *review, size_t share, const char *path)
{
	AUTO_CLOSE int root = review_open_host(review, share, NULL);
	AUTO_CLOSE int fd = -1;

	if (root >= 0)
		fd = tree_open(root, path, O_PATH | O_NOFOLLOW);
	return fd < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static void add_shown(struct review *review, const char *line)
{
	const struct share_list *shares = &review->sandbox->record.shares;
	const char *slash = strchr(line, '/');
	char name[32];

	if (!slash || !slash[1] || !is_plain_path(slash + 1))
		return;
	for (size_t i = 0; i < shares->count; i++) {
		text_format(
			name, sizeof(name), "%016llx/",
			(unsigned long long)text_hash(shares->items[i].host));
		if (text_starts(line, name) && !is_gone(review, i, slash + 1))
			add(&review->shown, &review->shown_count, i, slash + 1);
	}
}

static int load_shown(struct review *review, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(SHOWN_BYTES_MAX);
	AUTO_CLOSE int folder = tree_open(review->sandbox->folder, "files",
					  O_PATH | O_DIRECTORY);
	const char *at, *end;

	if (folder < 0 || fileio_read(folder, "shown", &text, err) < 0)
		return folder < 0 || err->code == ENOENT ? 0 : -1;
	at = (const char *)text.data;
	end = at + text.len;
	while (at < end) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));

		if (!stop)
			break;
		if (review->shown_count == REVIEW_ITEMS_MAX)
			review->cut = true;
		else
			add_shown(review, at);
		at = stop + 1;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct review_item *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? -1 : 1;
	return strcmp(x->path, y->path);
}

int review_load(const struct sandbox *sandbox, struct review *review,
		struct error *err)
{
	const struct share_list *shares = &sandbox->record.shares;

	*review = (struct review){ .sandbox = sandbox };
	for (size_t i = 0; i < shares->count; i++) {
		struct walk walk = { .review = review, .share = i };
		AUTO_CLOSE int root = review_open_shadow(review, i);

		if (root >= 0)
			walk_folder(&walk, root, 0, 0);
		else if (errno != ENOENT)
			return error_set(err, errno, "shadow");
	}
	if (review->held_count)
		qsort(review->held, review->held_count, sizeof(*review->held),
		      by_name);
	if (judge_all(review, err) < 0 || load_shown(review, err) < 0)
		return -1;
	if (review->shown_count)
		qsort(review->shown, review->shown_count,
		      sizeof(*review->shown), by_name);
	return 0;
}

static void release_items(struct review_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(items[i].path);
	free(items);
}

void review_release(struct review *review)
{
	release_items(review->held, review->held_count);
	release_items(review->shown, review->shown_count);
	*review = (struct review){ 0 };
}

char *review_name(const struct review *review, const struct review_item *item)
{
	if (item->share == 0)
		return xstrdup(item->path);
	return xasprintf("%s/%s",
			 review->sandbox->record.shares.items[item->share].host,
			 item->path);
}

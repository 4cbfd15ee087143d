/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_note.c - operations, written down before they are done
 */
#include "files/undo_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "files/server.h"
#include "undo/place.h"

static bool is_on(const struct server *server, const struct node *node)
{
	/* What only the guest sees is not the host's to take back. */
	return server->undo.journal >= 0 && !node->key.shadow &&
	       !server->shares[node->key.share].read_only;
}

/* Path of `name` in a folder, or of a node itself; NULL after it is lost. */
static const char *path_of(struct server *server, const struct node *node,
			   const char *name, char *path)
{
	if (node_path(server->nodes, node, name, path, NODE_PATH_MAX) == 0)
		return path;
	undo_lost(&server->undo, node->key.share, name ? name : "",
		  "where it lay is not known");
	return NULL;
}

static int note(struct undo *undo, const struct journal_record *record)
{
	if (undo_append(undo, record) < 0)
		return -1;
	undo->pending++;
	return 0;
}

void undo_done(struct server *server)
{
	server->undo.pending = 0;
}

void undo_cancel(struct server *server)
{
	struct undo *undo = &server->undo;
	struct journal_record record = { .type = JOURNAL_CANCEL,
					 .number = undo->pending,
					 .path = "",
					 .text = "" };

	if (!undo->pending)
		return;
	undo->pending = 0;
	undo_append(undo, &record);
}

/* False when its content could not be kept. */
static bool save_data(struct undo *undo, struct journal_record *record, int fd,
		      const struct statx *st)
{
	record->flags |= JOURNAL_DATA;
	if (!S_ISREG(st->stx_mode) || st->stx_size == 0)
		return true;
	record->number = undo_save_copy(undo, fd, st->stx_size, st->stx_blocks);
	return record->number != 0;
}

/*
 * shared: number of a saved file that is this inode; 0: none. It changes with
 * it, so it is where the old content goes back to, and other names of the file
 * with it; a name of its own it may not have any more.
 */
static void save(struct server *server, struct node *node, int fd,
		 unsigned what, uint32_t shared)
{
	struct undo *undo = &server->undo;
	struct journal_record record = { .type = JOURNAL_CHANGE,
					 .share = node->key.share,
					 .path = "",
					 .text = "" };
	char number[16];
	struct statx st;

	if (shared) {
		text_format(number, sizeof(number), "%u", shared);
		record.flags = JOURNAL_SAVED;
		record.text = number;
	}
	/* Names among the saved files are no places. */
	if (!shared || (node->parent && !(node->flags & NODE_ORPHAN)))
		record.path = path_of(server, node, NULL, undo->path);
	if (!record.path)
		return;
	if (statx(fd, "", AT_EMPTY_PATH, SHARE_STATX, &st) < 0)
		return;
	place_file(&st, &record.file);
	if ((what & UNDO_DATA) && !save_data(undo, &record, fd, &st)) {
		undo_lost(undo, record.share, record.path,
			  "its content could not be saved");
		return;
	}
	record.xattrs = undo->xattrs;
	if (!S_ISLNK(st.stx_mode))
		record.xattrs_len = undo_save_xattrs(undo, fd);
	undo_append(undo, &record);
}

void undo_change(struct server *server, struct node *node, unsigned what)
{
	struct undo *undo = &server->undo;
	uint32_t number = 0;
	unsigned known;
	int fd;

	if (!is_on(server, node))
		return;
	known = undo_set_flags(&undo->set, &node->key, &number);
	if (!(known & UNDO_SHARED) &&
	    ((known & UNDO_CREATED) || (known & what) == what))
		return;
	fd = node_fds_path(&server->fds, node);
	if (fd < 0)
		return;
	/* Without a name there is nothing to put it back to. */
	if (!(known & UNDO_SHARED) && (node->flags & NODE_ORPHAN)) {
		if (undo->set.forgot)
			undo_lost(undo, node->key.share, "",
				  "a removed file that was still written to");
		return;
	}
	/* Once for all changes until another name of it goes. */
	if (known & UNDO_SHARED)
		what |= UNDO_DATA;
	if (what & UNDO_DATA)
		what |= UNDO_META;
	save(server, node, fd, what, number);
	known &= ~(unsigned)UNDO_SHARED;
	undo_set_put(&undo->set, &node->key, known | what, 0);
}

void undo_creating(struct server *server, struct node *folder, const char *name,
		   mode_t type, const char *target)
{
	struct undo *undo = &server->undo;
	struct journal_record record = { .type = JOURNAL_CREATE,
					 .share = folder->key.share,
					 .file = { .mode = type },
					 .text = target ? target : "" };

	if (!is_on(server, folder))
		return;
	undo_change(server, folder, UNDO_META);
	record.path = path_of(server, folder, name, undo->path);
	if (record.path)
		note(undo, &record);
}

void undo_linking(struct server *server, struct node *folder, const char *name,
		  struct node *file)
{
	struct undo *undo = &server->undo;
	struct journal_record record = { .type = JOURNAL_CREATE,
					 .flags = JOURNAL_HARD_LINK,
					 .share = folder->key.share,
					 .text = "" };
	struct statx st;

	if (!is_on(server, folder) ||
	    node_fds_stat(&server->fds, file, &st) < 0)
		return;
	undo_change(server, folder, UNDO_META);
	place_file(&st, &record.file);
	record.path = path_of(server, folder, name, undo->path);
	if (record.path)
		note(undo, &record);
}

void undo_opened(struct server *server, unsigned share, const struct statx *st)
{
	struct node_key key = share_key(share, st);

	if (server->undo.journal >= 0)
		undo_set_put(&server->undo.set, &key, UNDO_CREATED, 0);
}

void undo_created(struct server *server, unsigned share, const struct statx *st)
{
	struct journal_record record = { .type = JOURNAL_LEFT,
					 .flags = JOURNAL_CREATED,
					 .share = (uint8_t)share,
					 .path = "",
					 .text = "" };

	undo_opened(server, share, st);
	if (server->undo.journal < 0 || !S_ISREG(st->stx_mode))
		return;
	place_file(st, &record.file);
	undo_append(&server->undo, &record);
}

/* A copy, with the attributes that the inode would have kept. */
static uint32_t copy_named(struct undo *undo, int dir, const char *name,
			   const struct statx *st)
{
	AUTO_CLOSE int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return 0;
	return undo_save_copy(undo, fd, st->stx_size, st->stx_blocks);
}

/* Another name for it among the saved files. */
static uint32_t link_named(struct undo *undo, int dir, const char *name,
			   const struct statx *st)
{
	char number[16];

	if (undo->cannot_move || undo->saved == UNDO_NUMBER_MAX ||
	    undo_charge(undo, st->stx_blocks * 512) < 0)
		return 0;
	text_format(number, sizeof(number), "%u", undo->saved + 1);
	if (linkat(dir, name, undo->files, number, 0) < 0)
		return 0;
	return ++undo->saved;
}

/* Puts what the record of a removal needs into it; false: it is lost. */
static bool keep_removed(struct undo *undo, struct journal_record *record,
			 int dir, const char *name, const struct statx *st)
{
	struct node_key key = share_key(record->share, st);
	AUTO_CLOSE int fd = -1;
	ssize_t len;

	place_file(st, &record->file);
	record->text = "";
	if (S_ISLNK(st->stx_mode)) {
		len = readlinkat(dir, name, undo->path2, NODE_PATH_MAX - 1);
		undo->path2[len < 0 ? 0 : len] = '\0';
		record->text = undo->path2;
		return len > 0;
	}
	if (S_ISDIR(st->stx_mode)) {
		fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		record->xattrs = undo->xattrs;
		record->xattrs_len = fd < 0 ? 0 : undo_save_xattrs(undo, fd);
		return true;
	}
	if (!S_ISREG(st->stx_mode) || record->number)
		return true;
	record->number = link_named(undo, dir, name, st);
	if (record->number)
		undo_set_put(&undo->set, &key,
			     undo_set_flags(&undo->set, &key, NULL) |
				     UNDO_SHARED,
			     record->number);
	else
		record->number = copy_named(undo, dir, name, st);
	return record->number != 0;
}

/* The folder and the name of something that goes away. */
static int note_removal(struct server *server, struct node *folder, int dir,
			const char *name, const struct statx *st)
{
	struct undo *undo = &server->undo;
	struct node_key key = share_key(folder->key.share, st);
	unsigned known = undo_set_flags(&undo->set, &key, NULL);
	struct journal_record record = { .type = JOURNAL_REMOVE,
					 .share = folder->key.share };

	undo_change(server, folder, UNDO_META);
	if (known & UNDO_CREATED) {
		/* Others may have lain in it: it will be needed again. */
		if (!S_ISDIR(st->stx_mode))
			return 0;
		record.flags = JOURNAL_CREATED;
	}
	record.path = path_of(server, folder, name, undo->path);
	if (!record.path)
		return 0;
	if (!S_ISDIR(st->stx_mode) && st->stx_nlink > 1)
		record.flags |= JOURNAL_LINKED;
	if (!keep_removed(undo, &record, dir, name, st)) {
		undo_lost(undo, record.share, record.path,
			  "it could not be saved");
		return 0;
	}
	return note(undo, &record);
}

/* By one rename instead of link and unlink. 1, 0: not possible, or -errno. */
static int move_away(struct server *server, struct node *folder, int dir,
		     const char *name, const struct statx *st)
{
	struct undo *undo = &server->undo;
	struct node_key key = share_key(folder->key.share, st);
	unsigned known = undo_set_flags(&undo->set, &key, NULL);
	struct journal_record record = { .type = JOURNAL_REMOVE,
					 .share = folder->key.share,
					 .number = undo->saved + 1,
					 .text = "" };
	char number[16];

	if (!S_ISREG(st->stx_mode) || (known & UNDO_CREATED) ||
	    undo->cannot_move || undo->saved == UNDO_NUMBER_MAX ||
	    undo_charge(undo, st->stx_blocks * 512) < 0)
		return 0;
	undo_change(server, folder, UNDO_META);
	record.path = path_of(server, folder, name, undo->path);
	place_file(st, &record.file);
	if (!record.path || note(undo, &record) < 0)
		return 0;
	text_format(number, sizeof(number), "%u", ++undo->saved);
	if (renameat2(dir, name, undo->files, number, RENAME_NOREPLACE) < 0) {
		int failed = -errno;

		undo_cancel(server);
		if (failed == -EXDEV)
			undo->cannot_move = true;
		return failed == -EXDEV || failed == -EEXIST ? 0 : failed;
	}
	undo_set_put(&undo->set, &key, known | UNDO_SHARED, undo->saved);
	return 1;
}

int undo_removing(struct server *server, struct node *folder, int dir,
		  const char *name, const struct statx *st)
{
	int moved;

	if (!is_on(server, folder))
		return 0;
	moved = move_away(server, folder, dir, name, st);
	if (moved)
		return moved;
	note_removal(server, folder, dir, name, st);
	return 0;
}

static bool same_file(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && share_dev(a) == share_dev(b);
}

void undo_moving(struct server *server, const struct undo_move *move)
{
	struct undo *undo = &server->undo;
	bool exchange = move->flags & RENAME_EXCHANGE;
	struct journal_record record = {
		.type = exchange ? JOURNAL_EXCHANGE : JOURNAL_RENAME,
		.share = move->from->key.share,
	};
	struct node_key key = share_key(record.share, move->st);

	if (!is_on(server, move->from))
		return;
	if (move->over && !exchange) {
		/* It fails, or nothing happens at all. */
		if ((move->flags & RENAME_NOREPLACE) ||
		    same_file(move->st, move->over))
			return;
		if (note_removal(server, move->to, move->to_fd, move->new_name,
				 move->over) < 0)
			return;
	}
	undo_change(server, move->from, UNDO_META);
	undo_change(server, move->to, UNDO_META);
	place_file(move->st, &record.file);
	if (undo_set_flags(&undo->set, &key, NULL) & UNDO_CREATED)
		record.flags = JOURNAL_CREATED;
	record.path = path_of(server, move->from, move->old_name, undo->path);
	record.text = path_of(server, move->to, move->new_name, undo->path2);
	if (record.path && record.text)
		note(undo, &record);
}

/* Without counting as a use: whoever walks over the descriptors calls. */
static int stat_quietly(struct server *server, struct node *node,
			struct statx *st)
{
	if (node->fd < 0)
		return node_fds_stat(&server->fds, node, st);
	return statx(node->fd, "", AT_EMPTY_PATH, SHARE_STATX, st);
}

void undo_settle(struct server *server, struct node *node)
{
	struct undo *undo = &server->undo;
	struct journal_record record = { .type = JOURNAL_LEFT,
					 .share = node->key.share,
					 .path = "",
					 .text = "" };
	unsigned known;
	struct statx st;

	if (!is_on(server, node) || node->type != S_IFREG)
		return;
	known = undo_set_flags(&undo->set, &node->key, NULL);
	if (!(known & (UNDO_CREATED | UNDO_DATA | UNDO_META)) ||
	    stat_quietly(server, node, &st) < 0)
		return;
	if (known & UNDO_CREATED)
		record.flags = JOURNAL_CREATED;
	place_file(&st, &record.file);
	undo_append(undo, &record);
}

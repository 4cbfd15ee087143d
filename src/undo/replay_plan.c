/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_plan.c - what taking changes back would come to
 *
 * The steps are gone through as in earnest, over a picture of the names that
 * they would change. A file that was made and then renamed is told of by the
 * name that it has now; one that is gone again is not told of at all. Beneath
 * a folder that was renamed nothing is looked at.
 */
#include "undo/replay_internal.h"

#include <errno.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "undo/place.h"

enum seen {
	SEEN_ABSENT,
	SEEN_PRESENT,
};

struct name {
	enum seen seen;
	bool restored;
	bool moved;  /* a folder was renamed from here, or to here */
	char *shown; /* owned: what it is called now; NULL: as itself */
	char path[];
};

struct plan {
	struct replay *replay;
	const struct scan *scan; /* the segment that it is about now */
	int root;
	void *names[JOURNAL_SHARES_MAX]; /* owned: trees of struct name */
};

static int compare(const void *a, const void *b)
{
	const struct name *one = a, *two = b;

	return strcmp(one->path, two->path);
}

static void free_name(void *p)
{
	struct name *name = p;

	free(name->shown);
	free(name);
}

static struct name *make_name(const char *path)
{
	size_t len = strlen(path) + 1;
	struct name *name = xcalloc(1, sizeof(*name) + len);

	memcpy(name->path, path, len);
	return name;
}

/* As an earlier step left it; NULL: none touched it. */
static struct name *seen(struct plan *plan, uint8_t share, const char *path)
{
	struct name *key = make_name(path), **found;

	found = tfind(key, &plan->names[share], compare);
	free(key);
	return found ? *found : NULL;
}

static struct name *see(struct plan *plan, uint8_t share, const char *path,
			enum seen what)
{
	struct name *name = make_name(path), **found;

	found = tsearch(name, &plan->names[share], compare);
	if (!found)
		abort();
	if (*found != name)
		free_name(name);
	(*found)->seen = what;
	return *found;
}

/* What lies there now is not what the journal means. */
static bool is_beneath_moved(struct plan *plan, uint8_t share, const char *path)
{
	AUTO_FREE char *folder = xstrdup(path);
	char *slash;

	while ((slash = strrchr(folder, '/'))) {
		const struct name *name;

		*slash = '\0';
		name = seen(plan, share, folder);
		if (name && name->moved)
			return true;
	}
	return false;
}

static bool exists(struct plan *plan, uint8_t share, const char *path,
		   struct journal_file *now)
{
	const struct name *name = seen(plan, share, path);

	*now = (struct journal_file){ 0 };
	if (name)
		return name->seen == SEEN_PRESENT;
	if (is_beneath_moved(plan, share, path))
		return true;
	return place_stat(plan->root, path, now) == 0;
}

/* By what lies there in truth, where no step comes before. */
static bool conflicts(struct plan *plan, const struct journal_record *record,
		      const struct journal_file *now)
{
	if (!now->ino || plan->replay->force || !S_ISREG(now->mode) ||
	    (record->flags & JOURNAL_HARD_LINK))
		return false;
	if (!scan_host_changed(plan->replay, plan->scan, now))
		return false;
	replay_say(plan->replay, plan->scan, record->share, REPLAY_CONFLICT,
		   record->path, "was changed on the host");
	return true;
}

static void plan_create(struct plan *plan, const struct journal_record *record)
{
	struct name *name = seen(plan, record->share, record->path);
	const char *shown = record->path;
	struct journal_file now;

	if (name && name->shown) {
		const struct name *other =
			seen(plan, record->share, name->shown);

		/* The old file has that name again: it was replaced. */
		shown = other && other->restored ? NULL : name->shown;
	}
	if (exists(plan, record->share, record->path, &now) && shown &&
	    !conflicts(plan, record, &now))
		replay_say(plan->replay, plan->scan, record->share,
			   REPLAY_REMOVED, shown, "");
	see(plan, record->share, record->path, SEEN_ABSENT);
}

/* Whether what the host made meanwhile stays in the way of the old file. */
static bool is_in_the_way(struct plan *plan,
			  const struct journal_record *record)
{
	struct journal_file now;

	if (!exists(plan, record->share, record->path, &now) || !now.ino ||
	    step_is_ours(plan->replay, &now, &record->file) ||
	    (S_ISDIR(now.mode) && S_ISDIR(record->file.mode)))
		return false;
	if (plan->replay->force && !S_ISDIR(now.mode))
		return false;
	replay_say(plan->replay, plan->scan, record->share, REPLAY_CONFLICT,
		   record->path, "something new has this name");
	return true;
}

static void plan_remove(struct plan *plan, const struct journal_record *record)
{
	/* A socket is of no use without who listened on it. */
	bool stays =
		!S_ISSOCK(record->file.mode) && is_in_the_way(plan, record);
	struct name *name =
		see(plan, record->share, record->path, SEEN_PRESENT);

	free(name->shown);
	name->shown = NULL;
	name->restored = true;
	if (!stays && !(record->flags & JOURNAL_CREATED) &&
	    !S_ISSOCK(record->file.mode))
		replay_say(plan->replay, plan->scan, record->share,
			   REPLAY_RESTORED, record->path, "");
}

static void plan_rename(struct plan *plan, const struct journal_record *record)
{
	const struct name *from = seen(plan, record->share, record->text);
	AUTO_FREE char *shown =
		xstrdup(from && from->shown ? from->shown : record->text);
	struct journal_file now;
	struct name *left, *to;

	if (!exists(plan, record->share, record->text, &now) ||
	    is_in_the_way(plan, record))
		return;
	left = see(plan, record->share, record->text, SEEN_ABSENT);
	left->restored = false;
	to = see(plan, record->share, record->path, SEEN_PRESENT);
	left->moved |= S_ISDIR(record->file.mode);
	to->moved |= S_ISDIR(record->file.mode);
	free(to->shown);
	to->shown = NULL;
	if (record->flags & JOURNAL_CREATED)
		to->shown = TAKE_PTR(shown);
	else
		replay_say(plan->replay, plan->scan, record->share,
			   REPLAY_MOVED, record->path, record->text);
}

static void plan_exchange(struct plan *plan,
			  const struct journal_record *record)
{
	see(plan, record->share, record->path, SEEN_PRESENT)->moved = true;
	see(plan, record->share, record->text, SEEN_PRESENT)->moved = true;
	replay_say(plan->replay, plan->scan, record->share, REPLAY_MOVED,
		   record->path, record->text);
}

static void plan_change(struct plan *plan, const struct journal_record *record)
{
	struct journal_file now;
	bool there = exists(plan, record->share, record->path, &now);
	bool data = record->flags & JOURNAL_DATA;

	if ((record->flags & JOURNAL_SAVED) && !*record->path)
		return;
	if (now.ino && !data &&
	    (S_ISDIR(now.mode) || !place_same_inode(&now, &record->file)))
		return;
	if (!there && !data)
		return;
	if (data && now.ino && !plan->replay->force &&
	    !place_same_inode(&now, &record->file))
		replay_say(plan->replay, plan->scan, record->share,
			   REPLAY_CONFLICT, record->path,
			   "was replaced on the host");
	else if (data && !there && !plan->replay->force)
		replay_say(plan->replay, plan->scan, record->share,
			   REPLAY_CONFLICT, record->path,
			   "was removed on the host");
	else if (!data)
		replay_say(plan->replay, plan->scan, record->share,
			   REPLAY_ATTRIBUTES, record->path, "");
	else if (!conflicts(plan, record, &now))
		replay_say(plan->replay, plan->scan, record->share,
			   REPLAY_RESTORED, record->path, "");
}

static void plan_step(struct plan *plan, const struct journal_record *record)
{
	static void (*const plans[])(struct plan * plan,
				     const struct journal_record *record) = {
		[JOURNAL_CREATE] = plan_create,
		[JOURNAL_REMOVE] = plan_remove,
		[JOURNAL_RENAME] = plan_rename,
		[JOURNAL_EXCHANGE] = plan_exchange,
		[JOURNAL_CHANGE] = plan_change,
	};

	if (record->type == JOURNAL_LOST) {
		replay_say(plan->replay, plan->scan, record->share, REPLAY_LOST,
			   record->path, record->text);
		return;
	}
	plan->root = plan->scan->roots[record->share];
	if (plan->root < 0)
		replay_say(plan->replay, plan->scan, record->share,
			   REPLAY_CONFLICT, record->path,
			   "lies in a folder that is not shared any more");
	else if (record->type < ARRAY_SIZE(plans) && plans[record->type])
		plans[record->type](plan, record);
}

int replay_plan(struct replay *replay, unsigned number, struct error *err)
{
	struct journal_record record;
	struct scan scan;
	int result = scan_load(replay, number, &scan, err);

	if (!replay->plan)
		replay->plan = xcalloc(1, sizeof(*replay->plan));
	replay->plan->replay = replay;
	replay->plan->scan = &scan;
	for (size_t i = result < 0 ? 0 : scan.count; i-- > 0;) {
		if (journal_at(&scan.reader, scan.steps[i], &record) > 0)
			plan_step(replay->plan, &record);
	}
	scan_release(&scan);
	return result;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < JOURNAL_SHARES_MAX; i++)
		tdestroy(plan->names[i], free_name);
	free(plan);
}

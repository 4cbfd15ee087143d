/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked.c - why a command may have failed: hosts that it was not let to, and
 * logins that are over
 */
#include "cli/blocked.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/keys.h"
#include "cli/net_log.h"
#include "cli/progress_view.h"
#include "cli/store.h"

/* A guest may fill the log: so much of its end is looked at. */
#define READ_MAX (1024 * 1024)
#define HOSTS_MAX 6

struct found {
	char hosts[HOSTS_MAX][NET_LOG_TARGET_SIZE]; /* rules that they need */
	size_t count;
	bool more;
	char rule[NET_LOG_TARGET_SIZE]; /* one that denies, "" for none */
};

struct blocked_mark blocked_begin(const struct sandbox *sandbox)
{
	AUTO_CLOSE int folder = net_log_open(sandbox);
	struct blocked_mark mark = { 0 };
	struct stat st;

	if (folder >= 0 &&
	    fstatat(folder, NET_LOG_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
		mark = (struct blocked_mark){ st.st_dev, st.st_ino,
					      st.st_size };
	return mark;
}

static void note(struct found *found, const struct net_log_entry *entry)
{
	char wish[NET_LOG_TARGET_SIZE];

	if (!entry->denied || net_log_wish(entry, wish) < 0)
		return;
	/* what a rule forbids is not opened by another one */
	if (text_starts(entry->rule, "deny ")) {
		text_printable(entry->rule, strlen(entry->rule), found->rule,
			       sizeof(found->rule));
		return;
	}
	for (size_t i = 0; i < found->count; i++)
		if (!strcmp(found->hosts[i], wish))
			return;
	if (found->count == HOSTS_MAX)
		found->more = true;
	else
		text_copy(found->hosts[found->count++], NET_LOG_TARGET_SIZE,
			  wish);
}

static void take_lines(const struct buffer *text, struct found *found)
{
	const char *at = (const char *)text->data, *end = at + text->len;

	while (at < end) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));
		struct net_log_entry entry;

		if (!feed)
			return;
		if (net_log_decode(at, (size_t)(feed - at), &entry) == 0) {
			note(found, &entry);
			net_log_release(&entry);
		}
		at = feed + 1;
	}
}

/* What was added since the mark, or all of a file that is newer. */
static void read_file(int folder, const char *name,
		      const struct blocked_mark *mark, bool only_marked,
		      struct found *found)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(2 * READ_MAX);
	AUTO_CLOSE int fd = openat(
		folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	off_t from = 0;
	bool marked;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	marked = mark->inode == st.st_ino && mark->device == st.st_dev;
	if (only_marked && !marked)
		return;
	if (marked)
		from = mark->size;
	if (st.st_size - from > READ_MAX)
		from = st.st_size - READ_MAX;
	if (lseek(fd, from, SEEK_SET) == from &&
	    fileio_read_fd(fd, &text, NULL) == 0)
		take_lines(&text, found);
}

static void print(const struct found *found, const char *name)
{
	progress_view_clear();
	if (found->rule[0])
		fprintf(stderr, "bawn: a rule denied connections: `%s`\n",
			found->rule);
	if (!found->count)
		return;
	fprintf(stderr, "bawn: blocked: ");
	for (size_t i = 0; i < found->count; i++)
		fprintf(stderr, "%s%s", i ? ", " : "", found->hosts[i]);
	fprintf(stderr, "%s (`bawn policy allow %s '",
		found->more ? ", ..." : "", name);
	for (size_t i = 0; i < found->count; i++)
		fprintf(stderr, "%s%s", i ? "," : "", found->hosts[i]);
	fprintf(stderr, "'` allows %s)\n", found->count > 1 ? "them" : "it");
}

void blocked_report_logins(const struct sandbox *sandbox)
{
	json_t *names = keys_over(sandbox), *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		const char *text = json_string_value(name);

		progress_view_clear();
		fprintf(stderr,
			"bawn: the login %s is over and has to be made again "
			"(`bawn secret login %s --sandbox %s`)\n",
			text, text, sandbox->record.name);
	}
	json_decref(names);
}

void blocked_report(const struct sandbox *sandbox,
		    const struct blocked_mark *mark)
{
	AUTO_CLOSE int folder = net_log_open(sandbox);
	struct found found = { 0 };

	if (folder < 0)
		return;
	/* it may have been moved aside while the command ran */
	read_file(folder, NET_LOG_FILE ".1", mark, true, &found);
	read_file(folder, NET_LOG_FILE, mark, false, &found);
	print(&found, sandbox->record.name);
}

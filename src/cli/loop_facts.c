/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_facts.c - what an iteration changed, and where it went in the network
 *
 * Changes come from the undo journal, which bawn-files wrote, and egress from
 * the log of bawn-net: both are foreign, bounded, and only shown.
 */
#include "cli/loop_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/mark.h"
#include "cli/net_log.h"
#include "cli/net_summary.h"
#include "cli/store.h"
#include "undo/segment.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define LOG_BYTES_MAX (1024 * 1024)
#define FILES_MAX 200
#define HOSTS_MAX 50
#define PATH_SHOWN 300

AUTO_DEFINE(json, json_t *, json_decref)

void loop_facts_begin(struct loop_facts *facts, const struct sandbox *sandbox,
		      unsigned iteration)
{
	struct error err = { 0 };
	char prefix[32];

	facts->net = blocked_begin(sandbox);
	(void)text_format(prefix, sizeof(prefix), "loop-%u-", iteration);
	segment_label_now(prefix, facts->label, sizeof(facts->label));
	if (mark_set(sandbox, facts->label, &err) < 0) {
		log_debug("no mark for undo: %s", err.text);
		facts->label[0] = '\0';
	}
}

static bool is_own(const char *path)
{
	static const char *const own[] = { ".ralph", ".agent" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		size_t len = strlen(own[i]);

		if (!strncmp(path, own[i], len) &&
		    (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

static void note(json_t *seen, const char *path)
{
	char shown[PATH_SHOWN];

	if (!path[0] || is_own(path))
		return;
	text_printable(path, strlen(path), shown, sizeof(shown));
	if (json_object_size(seen) < FILES_MAX || json_object_get(seen, shown))
		json_object_set_new(seen, shown, json_true());
}

static void take_journal(const struct buffer *bytes, json_t *seen)
{
	struct journal_reader reader;
	struct journal_record record;

	if (journal_begin(&reader, bytes->data, bytes->len) < 0)
		return;
	while (journal_next(&reader, &record) > 0) {
		switch (record.type) {
		case JOURNAL_RENAME:
		case JOURNAL_EXCHANGE:
			note(seen, record.text);
			note(seen, record.path);
			break;
		case JOURNAL_CREATE:
		case JOURNAL_REMOVE:
		case JOURNAL_CHANGE:
			note(seen, record.path);
			break;
		default:
			break;
		}
	}
}

static int open_journal(const struct sandbox *sandbox, const char *label)
{
	AUTO_CLOSE int files = openat(sandbox->folder, "files", FOLDER_FLAGS);
	AUTO_CLOSE int undo = -1;
	AUTO_CLOSE int segment = -1;
	struct segments segments = { 0 };
	char name[16] = "";

	if (files >= 0)
		undo = openat(files, "undo", FOLDER_FLAGS);
	if (undo < 0 || segments_load(undo, &segments, NULL) < 0)
		return -1;
	for (size_t i = 0; i < segments.count; i++)
		if (!strcmp(segments.list[i].label, label))
			segment_name(segments.list[i].number, name);
	segments_release(&segments);
	if (!name[0])
		return -1;
	segment = openat(undo, name, FOLDER_FLAGS);
	return segment < 0
		       ? -1
		       : openat(segment, SEGMENT_JOURNAL,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool add_files(const struct loop_facts *facts,
		      const struct sandbox *sandbox, json_t *record)
{
	AUTO_CLOSE int fd =
		facts->label[0] ? open_journal(sandbox, facts->label) : -1;
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(JOURNAL_BYTES_MAX);
	AUTO(json) json_t *seen = json_object();
	json_t *list = json_array();
	const char *path;
	json_t *value;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    fileio_read_fd(fd, &bytes, NULL) == 0)
		take_journal(&bytes, seen);
	json_object_foreach(seen, path, value)
		json_array_append_new(list, json_string(path));
	json_object_set_new(record, "files", list);
	if (facts->label[0])
		json_object_set_new(record, "undo", json_string(facts->label));
	return json_array_size(list) > 0;
}

static void take_lines(const struct buffer *text, struct net_summary *summary,
		       unsigned *denied)
{
	const char *at = (const char *)text->data, *end = at + text->len;

	while (at < end) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));
		struct net_log_entry entry;

		if (!feed)
			return;
		if (net_log_decode(at, (size_t)(feed - at), &entry) == 0) {
			net_summary_add(summary, &entry);
			*denied += entry.denied;
			net_log_release(&entry);
		}
		at = feed + 1;
	}
}

/* What was added since the mark; of a newer file all. */
static void read_log(const struct loop_facts *facts,
		     const struct sandbox *sandbox, struct net_summary *summary,
		     unsigned *denied)
{
	AUTO_CLOSE int folder = net_log_open(sandbox);
	AUTO_BUFFER struct buffer text = BUFFER_INIT(2 * LOG_BYTES_MAX);
	AUTO_CLOSE int fd = -1;
	const struct blocked_mark *mark = &facts->net;
	off_t from = 0;
	struct stat st;

	if (folder >= 0)
		fd = openat(folder, NET_LOG_FILE,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (mark->inode == st.st_ino && mark->device == st.st_dev)
		from = mark->size;
	if (st.st_size - from > LOG_BYTES_MAX)
		from = st.st_size - LOG_BYTES_MAX;
	if (lseek(fd, from, SEEK_SET) == from &&
	    fileio_read_fd(fd, &text, NULL) == 0)
		take_lines(&text, summary, denied);
}

static void add_hosts(json_t *list, const json_t *hosts, bool denied)
{
	const json_t *host;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)hosts, i, host)
		json_array_append_new(
			list, json_pack("{s:O?, s:O?, s:b}", "host",
					json_object_get(host, "host"), "count",
					json_object_get(host, "count"),
					"denied", denied));
}

bool loop_facts_end(const struct loop_facts *facts,
		    const struct sandbox *sandbox, json_t *record)
{
	AUTO_NET_SUMMARY struct net_summary summary = NET_SUMMARY_INIT;
	AUTO(json) json_t *allowed = NULL;
	AUTO(json) json_t *refused = NULL;
	json_t *egress = json_array();
	unsigned denied = 0;

	read_log(facts, sandbox, &summary, &denied);
	allowed = net_summary_list(&summary, false, HOSTS_MAX);
	refused = net_summary_list(&summary, true, HOSTS_MAX);
	add_hosts(egress, refused, true);
	add_hosts(egress, allowed, false);
	json_object_set_new(record, "egress", egress);
	return add_files(facts, sandbox, record);
}

unsigned loop_facts_denied(const struct loop_facts *facts,
			   const struct sandbox *sandbox)
{
	AUTO_NET_SUMMARY struct net_summary summary = NET_SUMMARY_INIT;
	unsigned denied = 0;

	read_log(facts, sandbox, &summary, &denied);
	return denied;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_policy_log.c - policy log and network log
 */
#include "cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/net_log.h"
#include "cli/net_summary.h"
#include "cli/print.h"
#include "cli/spelling.h"
#include "cli/store.h"
#include "cli/table.h"
#include "cli/tail.h"

#define LIMIT_MAX 1000000000
#define DEFAULT_RULE "<default policy>"

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)

/* The sandbox of the command's word, or all; at least one folder to read. */
static int open_sandboxes(const struct options *options,
			  struct sandbox **sandboxes, size_t *count,
			  struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	const char *name = options->word_count ? options->words[0] : NULL;

	*count = 0;
	if (store_open(&store, err) < 0)
		return -1;
	*sandboxes = xcalloc(store.count + 1, sizeof(**sandboxes));
	for (size_t i = 0; i < store.count && !name; i++) {
		(*sandboxes)[*count] = SANDBOX_INIT;
		if (store_find(&store, store.names[i], &(*sandboxes)[*count],
			       NULL) == 0)
			++*count;
	}
	if (!name)
		return 0;
	(*sandboxes)[0] = SANDBOX_INIT;
	if (store_find(&store, name, &(*sandboxes)[0], err) < 0)
		return -1;
	*count = 1;
	return 0;
}

static void close_sandboxes(struct sandbox *sandboxes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sandbox_close(&sandboxes[i]);
	free(sandboxes);
}

static int take_limit(const struct options *options, size_t *limit,
		      struct error *err)
{
	const char *text = options_value(options, "limit");
	uint64_t value = 0;

	if (text && text_to_u64(text, 1, LIMIT_MAX, &value) < 0)
		return options_usage(err, "--limit %s: not a number from 1",
				     text);
	*limit = (size_t)value;
	return 0;
}

static void print_safe(const char *text)
{
	char shown[1024];

	text_printable(text, strlen(text), shown, sizeof(shown));
	fputs(shown, stdout);
}

static void print_entry(const struct net_log_entry *entry)
{
	char target[NET_LOG_TARGET_SIZE];

	net_log_target(entry, target);
	print_safe(entry->time);
	printf("  ");
	print_safe(entry->sandbox);
	printf("  %-5s  ", entry->held     ? "ask"
			   : entry->denied ? "deny"
					   : "allow");
	print_safe(target);
	printf("  ");
	print_safe(entry->protocol);
	if (*entry->method) {
		printf(" ");
		print_safe(entry->method);
		printf(" ");
		print_safe(entry->path);
		print_safe(entry->query);
	}
	if (entry->status)
		printf(" %u", (unsigned)entry->status);
	printf("  ");
	print_safe(*entry->rule ? entry->rule : DEFAULT_RULE);
	if (*entry->reason) {
		printf("  (");
		print_safe(entry->reason);
		printf(")");
	}
	printf("\n");
}

static void print_line(void *ctx, const char *line, size_t len)
{
	struct net_log_entry entry;
	AUTO_FREE char *text = NULL;

	if (net_log_decode(line, len, &entry) < 0)
		return;
	if (*(const bool *)ctx) {
		text = json_dumps(entry.json, JSON_COMPACT | JSON_ENSURE_ASCII);
		puts(text ? text : "{}");
	} else {
		print_entry(&entry);
	}
	net_log_release(&entry);
}

/* Lines of several sandboxes, to be brought in order. */
struct lines {
	struct line {
		char *text;
		size_t len, at; /* at: keeps the order of equal times */
		char time[40];
	} * items;
	size_t count, room;
};

static void collect(void *ctx, const char *text, size_t len)
{
	struct lines *lines = ctx;
	struct net_log_entry entry;
	struct line *line;

	if (net_log_decode(text, len, &entry) < 0)
		return;
	if (lines->count == lines->room) {
		lines->room = lines->room ? 2 * lines->room : 256;
		lines->items = xrealloc(lines->items,
					lines->room * sizeof(*lines->items));
	}
	line = &lines->items[lines->count];
	*line = (struct line){ .text = xstrndup(text, len),
			       .len = len,
			       .at = lines->count++ };
	text_copy(line->time, sizeof(line->time), entry.time);
	net_log_release(&entry);
}

static int by_time(const void *a, const void *b)
{
	const struct line *one = a, *other = b;
	int order = strcmp(one->time, other->time);

	if (order)
		return order;
	return one->at < other->at ? -1 : one->at > other->at;
}

static void show_lines(const struct sandbox *sandboxes, size_t count, bool json,
		       size_t limit)
{
	struct lines lines = { 0 };
	size_t first;

	for (size_t i = 0; i < count; i++)
		net_log_read(&sandboxes[i], collect, &lines);
	if (lines.count)
		qsort(lines.items, lines.count, sizeof(*lines.items), by_time);
	first = limit && limit < lines.count ? lines.count - limit : 0;
	for (size_t i = 0; i < lines.count; i++) {
		if (i >= first)
			print_line(&json, lines.items[i].text,
				   lines.items[i].len);
		free(lines.items[i].text);
	}
	free(lines.items);
}

static int follow(const struct sandbox *sandboxes, size_t count, bool json,
		  struct error *err)
{
	struct tail_place *places = xcalloc(count + 1, sizeof(*places));
	struct tail_file *files = xcalloc(count + 1, sizeof(*files));
	int result;

	for (size_t i = 0; i < count; i++) {
		tail_file_init(&files[i], NET_LOG_FILE, print_line, &json);
		places[i] = (struct tail_place){ net_log_open(&sandboxes[i]),
						 &files[i], 1 };
	}
	result = tail_follow_each(places, count, err);
	for (size_t i = 0; i < count; i++) {
		tail_file_release(&files[i]);
		if (places[i].folder >= 0)
			close(places[i].folder);
	}
	free(files);
	free(places);
	return result;
}

static void count_line(void *ctx, const char *line, size_t len)
{
	struct net_log_entry entry;

	if (net_log_decode(line, len, &entry) < 0)
		return;
	net_summary_add(ctx, &entry);
	net_log_release(&entry);
}

/* "3 minutes ago" from what bawn-net writes. */
static void ago(const char *when, char out[64])
{
	struct tm parts = { 0 };

	if (strptime(when, "%Y-%m-%dT%H:%M:%S", &parts))
		table_ago(timegm(&parts), out, 64);
	else
		text_copy(out, 64, when);
}

static void print_hosts(const char *title, const json_t *hosts, bool quiet)
{
	static const char *const headings[] = { "SANDBOX",   "HOST",  "RULE",
						"LAST SEEN", "COUNT", NULL };
	AUTO(table) struct table *table = table_new(headings);
	json_t *host;
	size_t i;

	json_array_foreach((json_t *)hosts, i, host)
	{
		const char *rule =
			json_string_value(json_object_get(host, "rule"));
		char when[64], count[32];

		ago(json_string_value(json_object_get(host, "last_seen")),
		    when);
		text_format(count, sizeof(count), "%lld",
			    (long long)json_integer_value(
				    json_object_get(host, "count")));
		table_cell(table,
			   json_string_value(json_object_get(host, "sandbox")));
		table_cell(table,
			   json_string_value(json_object_get(host, "host")));
		table_cell(table, rule ? rule : DEFAULT_RULE);
		table_cell(table, when);
		table_cell(table, count);
	}
	if (quiet) {
		table_print_rows(table);
		return;
	}
	printf("%s\n", title);
	table_print(table);
}

static int show_summary(const struct sandbox *sandboxes, size_t count,
			const struct options *options, size_t limit)
{
	AUTO_NET_SUMMARY struct net_summary summary = NET_SUMMARY_INIT;
	bool quiet = options_flag(options, "quiet");
	AUTO(json) json_t *denied = NULL;
	AUTO(json) json_t *allowed = NULL;
	AUTO(json) json_t *both = NULL;

	for (size_t i = 0; i < count; i++)
		net_log_read(&sandboxes[i], count_line, &summary);
	denied = net_summary_list(&summary, true, limit);
	allowed = net_summary_list(&summary, false, limit);
	if (options_flag(options, "json")) {
		both = json_pack("{s:O, s:O}", "blocked_hosts", denied,
				 "allowed_hosts", allowed);
		print_json(both);
		return 0;
	}
	print_hosts("Blocked requests:", denied, quiet);
	if (!quiet)
		printf("\n");
	print_hosts("Allowed requests:", allowed, quiet);
	return 0;
}

static int policy_log(const struct options *options, struct error *err)
{
	bool json = options_flag(options, "json");
	struct sandbox *sandboxes = NULL;
	size_t count, limit;
	int result = -1;

	if (take_limit(options, &limit, err) < 0)
		return -1;
	if (open_sandboxes(options, &sandboxes, &count, err) == 0) {
		result = 0;
		if (options_flag(options, "follow"))
			result = follow(sandboxes, count, json, err);
		else if (spelling_now() == SPELLING_SBX)
			result = show_summary(sandboxes, count, options, limit);
		else
			show_lines(sandboxes, count, json, limit);
	}
	close_sandboxes(sandboxes, count);
	return result;
}

static const struct option_row log_rows[] = {
	{ "follow", 'f', OPTION_FLAG, NULL, "go on as things happen", NULL,
	  OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print a JSON object a line", NULL,
	  OPTION_HERE },
	{ "limit", '\0', OPTION_VALUE, "N", "the last N lines only", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_policy_log = {
	.name = "policy log",
	.arguments = "[NAME]",
	.help = "show where sandboxes connected to, and where they were not "
		"let",
	.options = log_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.max_words = 1,
	.failure_code = 1,
	.run = policy_log,
};

static int network_log(const struct options *options, struct error *err)
{
	struct sandbox *sandboxes = NULL;
	size_t count, limit;
	int result = -1;

	if (take_limit(options, &limit, err) < 0)
		return -1;
	if (open_sandboxes(options, &sandboxes, &count, err) == 0)
		result = show_summary(sandboxes, count, options, limit);
	close_sandboxes(sandboxes, count);
	return result;
}

static const struct option_row network_rows[] = {
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ "limit", '\0', OPTION_VALUE, "N", "at most N hosts of each kind",
	  NULL, OPTION_HERE },
	{ "quiet", 'q', OPTION_FLAG, NULL, "print no headings", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_network_log = {
	.name = "network log",
	.arguments = "[NAME]",
	.help = "show how often each host was asked for, blocked and allowed",
	.options = network_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.max_words = 1,
	.failure_code = 1,
	.run = network_log,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_log.c - what bawn-net wrote down about a sandbox's connections
 */
#include "cli/net_log.h"

#include <fcntl.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"
#include "cli/tail.h"
#include "wire/address.h"
#include "wire/hostname.h"

#define TEXT_MAX 8192

/* A text, or "" where it is null or missing; -1 otherwise. */
static int take_text(const json_t *json, const char *key, const char **out)
{
	const json_t *value = json_object_get(json, key);

	*out = "";
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_string(value) || json_string_length(value) > TEXT_MAX)
		return -1;
	*out = json_string_value(value);
	return 0;
}

static int take_number(const json_t *json, const char *key, uint64_t max,
		       uint64_t *out)
{
	const json_t *value = json_object_get(json, key);
	json_int_t number = json_integer_value(value);

	*out = 0;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || number < 0 || (uint64_t)number > max)
		return -1;
	*out = (uint64_t)number;
	return 0;
}

static int take_verdict(const char *verdict, struct net_log_entry *entry)
{
	entry->denied = !strcmp(verdict, "deny");
	entry->held = !strcmp(verdict, "ask");
	return entry->denied || entry->held || !strcmp(verdict, "allow") ? 0
									 : -1;
}

/* Names and addresses are written in their one form, or not believed. */
static int check_place(const struct net_log_entry *entry)
{
	char name[HOSTNAME_MAX + 1];
	struct address address;

	if (*entry->name &&
	    (hostname_canonical(entry->name, strlen(entry->name), name) < 0 ||
	     strcmp(name, entry->name)))
		return -1;
	if (*entry->address &&
	    address_parse(entry->address, strlen(entry->address), &address) < 0)
		return -1;
	return 0;
}

static int take_fields(const json_t *json, struct net_log_entry *entry)
{
	const struct {
		const char *key;
		const char **text;
	} texts[] = {
		{ "time", &entry->time },
		{ "rule", &entry->rule },
		{ "sandbox", &entry->sandbox },
		{ "scope", &entry->scope },
		{ "protocol", &entry->protocol },
		{ "reason", &entry->reason },
		{ "name", &entry->name },
		{ "address", &entry->address },
		{ "method", &entry->method },
		{ "path", &entry->path },
		{ "query", &entry->query },
	};
	const char *verdict;
	uint64_t port;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (take_text(json, texts[i].key, texts[i].text) < 0)
			return -1;
	if (take_text(json, "verdict", &verdict) < 0 ||
	    take_verdict(verdict, entry) < 0 ||
	    take_number(json, "port", UINT16_MAX, &port) < 0 ||
	    take_number(json, "status", 999, &entry->status) < 0 ||
	    take_number(json, "bytes_out", INT64_MAX, &entry->bytes_out) < 0 ||
	    take_number(json, "bytes_in", INT64_MAX, &entry->bytes_in) < 0)
		return -1;
	entry->port = (uint16_t)port;
	return *entry->time && *entry->protocol ? check_place(entry) : -1;
}

int net_log_decode(const char *line, size_t len, struct net_log_entry *entry)
{
	json_t *json = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);

	*entry = (struct net_log_entry){ .json = json };
	if (json_is_object(json) && take_fields(json, entry) == 0)
		return 0;
	json_decref(json);
	*entry = (struct net_log_entry){ 0 };
	return -1;
}

void net_log_release(struct net_log_entry *entry)
{
	json_decref(entry->json);
	*entry = (struct net_log_entry){ 0 };
}

bool net_log_is_outgoing(const struct net_log_entry *entry)
{
	return strcmp(entry->protocol, "published") &&
	       strcmp(entry->protocol, "dns") &&
	       strcmp(entry->protocol, "socket") &&
	       (*entry->name || *entry->address) && entry->port;
}

void net_log_target(const struct net_log_entry *entry,
		    char out[NET_LOG_TARGET_SIZE])
{
	const char *host = *entry->name ? entry->name : entry->address;
	bool v6 = strchr(host, ':') != NULL;

	if (!*host)
		host = entry->protocol;
	if (entry->port)
		text_format(out, NET_LOG_TARGET_SIZE, "%s%s%s:%u",
			    v6 ? "[" : "", host, v6 ? "]" : "", entry->port);
	else
		text_copy(out, NET_LOG_TARGET_SIZE, host);
}

/* The name was fine, but where it leads is closed: a rule must name that. */
static bool lacks_address(const struct net_log_entry *entry)
{
	struct address address;

	if (!entry->denied || !*entry->name || !*entry->address ||
	    address_parse(entry->address, strlen(entry->address), &address) < 0)
		return false;
	return text_starts(entry->rule, "allow ") ||
	       text_starts(entry->rule, "bypass ") ||
	       address_is_guarded(&address);
}

int net_log_wish(const struct net_log_entry *entry,
		 char out[NET_LOG_TARGET_SIZE])
{
	bool usual = entry->port == 80 || entry->port == 443;

	if (!net_log_is_outgoing(entry))
		return -1;
	if (lacks_address(entry))
		text_format(out, NET_LOG_TARGET_SIZE,
			    strchr(entry->address, ':') ? "[%s]:%u" : "%s:%u",
			    entry->address, entry->port);
	else if (!strcmp(entry->name, "host.docker.internal") ||
		 !strcmp(entry->name, "gateway.docker.internal"))
		text_format(out, NET_LOG_TARGET_SIZE, "localhost:%u",
			    entry->port);
	else if (*entry->name && usual && strcmp(entry->name, "localhost"))
		text_copy(out, NET_LOG_TARGET_SIZE, entry->name);
	else
		net_log_target(entry, out);
	return 0;
}

int net_log_open(const struct sandbox *sandbox)
{
	return openat(sandbox->folder, NET_LOG_FOLDER,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void read_one(int folder, const char *name, net_log_line_fn *each,
		     void *ctx)
{
	struct tail_file file;

	tail_file_init(&file, name, each, ctx);
	tail_read(folder, &file);
	/* a line without its end is still being written */
	tail_file_release(&file);
}

void net_log_read(const struct sandbox *sandbox, net_log_line_fn *each,
		  void *ctx)
{
	AUTO_CLOSE int folder = net_log_open(sandbox);
	char name[32];

	if (folder < 0)
		return;
	for (unsigned i = NET_LOG_OLDER; i > 0; i--) {
		text_format(name, sizeof(name), NET_LOG_FILE ".%u", i);
		read_one(folder, name, each, ctx);
	}
	read_one(folder, NET_LOG_FILE, each, ctx);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_learn.c - rules that would have allowed what was seen
 *
 * Observations are sorted by host; those about one host become a draft for each
 * run of ports; drafts that differ in their first label only become one.
 */
#include "policy/policy_learn.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/host_pattern.h"
#include "policy/method.h"
#include "policy/policy_learn_internal.h"
#include "wire/address.h"
#include "wire/hostname.h"
#include "wire/url_path.h"

#define PATH_DEPTH                                                \
	2 /* segments of a path that a rule names: owner, project \
	   */
#define PATH_BYTES_MAX 200 /* of them */
#define SIBLINGS_MIN 3     /* names that make a wildcard */
#define PORT_HTTP 80
#define PORT_HTTPS 443

/* One line of the log, as far as rules go. */
struct observation {
	char *host;   /* owned */
	char *path;   /* owned; its beginning, or "" */
	bool is_name; /* else an address, or localhost */
	bool refused;
	bool looked_into; /* there are a method and a path */
	uint16_t port;
	uint32_t method;
};

/* The beginning of a path that a rule could name: whole folders of it. */
static char *path_beginning(const char *path)
{
	char normal[URL_PATH_MAX + 1];
	size_t len = 0;

	if (!path || url_path_normalise(path, strlen(path), normal) < 0)
		return xstrdup("");
	for (int i = 0; i < PATH_DEPTH; i++) {
		size_t more = strcspn(normal + len + 1, "/");

		if (normal[len + 1 + more] != '/' ||
		    len + more > PATH_BYTES_MAX ||
		    memchr(normal + len, '*', more + 1))
			break;
		len += 1 + more;
	}
	return xstrndup(normal, len);
}

static bool is_about_the_network(const char *protocol)
{
	return !protocol || strcmp(protocol, "tcp") == 0 ||
	       strcmp(protocol, "tls") == 0 || strcmp(protocol, "http") == 0;
}

/* "" when it is neither a name nor an address. */
static void observe_host(const struct policy_seen *seen, char *host,
			 bool *is_name)
{
	host[0] = '\0';
	*is_name = false;
	if (!seen->name && seen->address)
		address_format(seen->address, host);
	if (!seen->name ||
	    hostname_canonical(seen->name, strlen(seen->name), host) < 0)
		return;
	*is_name = !host_pattern_is_localhost(host);
	if (!*is_name)
		(void)text_copy(host, HOSTNAME_MAX + 1, "localhost");
}

/* false: nothing that a rule could be made of. */
static bool observe(const struct policy_seen *seen, struct observation *out)
{
	char host[HOSTNAME_MAX + 1];

	*out = (struct observation){ .refused = !seen->allowed,
				     .port = seen->port };
	if (seen->port == 0 || !is_about_the_network(seen->protocol))
		return false;
	observe_host(seen, host, &out->is_name);
	if (!*host)
		return false;
	/* A method without a name of its own cannot be in a rule. */
	out->method = seen->method ? method_bit(seen->method) : METHOD_OTHER;
	out->looked_into = out->method != METHOD_OTHER;
	out->host = xstrdup(host);
	out->path = path_beginning(out->looked_into ? seen->path : NULL);
	return true;
}

static int compare_observations(const void *left, const void *right)
{
	const struct observation *a = left, *b = right;
	int hosts;

	if (a->refused != b->refused)
		return a->refused ? 1 : -1;
	if (a->is_name != b->is_name)
		return a->is_name ? -1 : 1;
	hosts = strcmp(a->host, b->host);
	if (hosts)
		return hosts;
	return (int)a->port - (int)b->port;
}

static bool same_host(const struct observation *a, const struct observation *b)
{
	return a->refused == b->refused && a->is_name == b->is_name &&
	       strcmp(a->host, b->host) == 0;
}

/* Cuts a beginning of a path to what it has in common with another. */
static void keep_common(char *path, const char *other)
{
	size_t same = 0, len = 0;

	for (; path[same] == other[same]; same++) {
		if (path[same] == '\0')
			return;
		if (path[same] == '/')
			len = same;
	}
	if ((path[same] == '/' && !other[same]) ||
	    (other[same] == '/' && !path[same]))
		len = same;
	path[len] = '\0';
}

static bool is_web(uint16_t port)
{
	return port == PORT_HTTP || port == PORT_HTTPS;
}

/* What the observations about one host have in common, as a draft's parts. */
static void summarise(const struct observation *first, size_t count,
		      struct learn_draft *draft)
{
	AUTO_FREE char *path = xstrdup(first->path);
	bool looked_into = true;

	*draft = (struct learn_draft){ .host = first->host,
				       .is_name = first->is_name,
				       .refused = first->refused };
	for (size_t i = 0; i < count; i++) {
		looked_into &= first[i].looked_into;
		draft->methods |= first[i].method;
		keep_common(path, first[i].path);
	}
	if (!looked_into)
		draft->methods = METHODS_ALL;
	else if (*path)
		draft->path = xasprintf("%s/**", path);
}

/* One draft for the web, which needs no port, and one for each other run. */
static void draft_host(struct learn_drafts *drafts,
		       const struct observation *first, size_t count)
{
	size_t i = 0;
	struct learn_draft draft;
	bool web = false;

	summarise(first, count, &draft);
	while (i < count) {
		uint16_t low = first[i].port, high = low;

		if (draft.is_name && is_web(low)) {
			web = true;
			i++;
			continue;
		}
		for (; i < count && first[i].port <= high + 1; i++) {
			if (draft.is_name && is_web(first[i].port))
				break;
			high = first[i].port;
		}
		draft.low = low;
		draft.high = high;
		learn_drafts_add(drafts, &draft);
	}
	draft.low = draft.high = 0;
	if (web)
		learn_drafts_add(drafts, &draft);
	free(draft.path);
}

int policy_learn(const struct policy_seen *seen, size_t count,
		 const char *shared, struct buffer *out, struct error *err)
{
	AUTO_FREE struct observation *all = xcalloc(count + 1, sizeof(*all));
	struct learn_drafts drafts = { 0 };
	size_t used = 0;
	int done;

	for (size_t i = 0; i < count; i++)
		used += observe(&seen[i], &all[used]);
	if (used)
		qsort(all, used, sizeof(*all), compare_observations);
	for (size_t i = 0, end; i < used; i = end) {
		for (end = i + 1; end < used && same_host(&all[i], &all[end]);)
			end++;
		draft_host(&drafts, &all[i], end - i);
	}
	learn_drafts_merge(&drafts, shared ? shared : "", SIBLINGS_MIN);
	done = learn_drafts_write(&drafts, out);
	learn_drafts_release(&drafts);
	for (size_t i = 0; i < used; i++) {
		free(all[i].host);
		free(all[i].path);
	}
	return done < 0 ? error_set(err, 0, "too many rules") : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_find.c - which sandbox a request means
 *
 * Same agent, workspace and, if given, template is the same sandbox; among
 * several the one used last. What was given and differs from that sandbox is
 * an error that shows both values: a silent difference would surprise later.
 */
#include "cli/request.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"
#include "provision/machine.h"

int request_differs(const struct sandbox *sandbox, const char *what,
		    const char *has, const char *asked, struct error *err)
{
	return error_set(
		err, 0,
		"sandbox %s has %s %s, not %s (give it another --name, "
		"or remove it with `bawn rm`)",
		sandbox->record.name, what, has, asked);
}

static int number_differs(const struct sandbox *sandbox, const char *what,
			  uint64_t has, uint64_t asked, struct error *err)
{
	char a[32], b[32];

	text_format(a, sizeof(a), "%llu", (unsigned long long)has);
	text_format(b, sizeof(b), "%llu", (unsigned long long)asked);
	return request_differs(sandbox, what, a, b, err);
}

static int size_differs(const struct sandbox *sandbox, const char *what,
			uint64_t has, uint64_t asked, struct error *err)
{
	char a[32], b[32];

	text_from_size(has, a, sizeof(a));
	text_from_size(asked, b, sizeof(b));
	if (!strcmp(a, b))
		return number_differs(sandbox, what, has, asked, err);
	return request_differs(sandbox, what, a, b, err);
}

static int compare(const struct request *request, const struct sandbox *sandbox,
		   struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;
	uint64_t disk_bytes = request->disk_bytes;

	if (request->remove_at_end && !record->remove_at_end)
		return error_set(err, 0,
				 "sandbox %s exists already; --rm makes a new "
				 "one (give it another --name)",
				 record->name);
	if (request->agent && strcmp(request->agent, record->agent))
		return request_differs(sandbox, "agent", record->agent,
				       request->agent, err);
	if (request_compare_shares(request, sandbox, err) < 0 ||
	    request_compare_net(request, sandbox, err) < 0 ||
	    request_compare_git(request, sandbox, err) < 0)
		return -1;
	if (request->template_name &&
	    strcmp(request->template_name, record->template_name))
		return request_differs(sandbox, "template",
				       record->template_name,
				       request->template_name, err);
	if (request->accel && strcmp(request->accel, record->accel))
		return request_differs(sandbox, "accelerator", record->accel,
				       request->accel, err);
	if (request->cpus && request->cpus != record->cpus)
		return number_differs(sandbox, "CPUs", record->cpus,
				      request->cpus, err);
	if (request->memory_mib && request->memory_mib != record->memory_mib)
		return size_differs(sandbox, "memory",
				    (uint64_t)record->memory_mib << 20,
				    (uint64_t)request->memory_mib << 20, err);
	/* sizes are rounded when a sandbox is made */
	if (disk_bytes && machine_check_disk(&disk_bytes, err) < 0)
		return -1;
	if (disk_bytes && disk_bytes != record->disk_bytes)
		return size_differs(sandbox, "a disk of", record->disk_bytes,
				    disk_bytes, err);
	return 0;
}

static bool same_place(const struct request *request,
		       const struct sandbox *sandbox)
{
	const struct sandbox_record *record = &sandbox->record;

	return !record->remove_at_end &&
	       !strcmp(record->agent, request_agent(request)) &&
	       record->shares.count && request->shares.count &&
	       !strcmp(record->shares.items[0].host,
		       request->shares.items[0].host);
}

/* Among all sandboxes of this agent and folder; *others counts them. */
static int find_by_place(const struct request *request,
			 const struct store *store, struct sandbox *best,
			 size_t *others)
{
	int found = 0;

	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox one = SANDBOX_INIT;

		if (store_find(store, store->names[i], &one, NULL) < 0 ||
		    !same_place(request, &one))
			continue;
		++*others;
		if (request->template_name &&
		    strcmp(request->template_name, one.record.template_name))
			continue;
		if (found && one.record.last_used <= best->record.last_used)
			continue;
		sandbox_close(best);
		*best = one;
		one = SANDBOX_INIT;
		found = 1;
	}
	return found;
}

int request_find(const struct request *request, const struct store *store,
		 struct sandbox *sandbox, struct error *err)
{
	struct error missing = { 0 };
	size_t others = 0;

	*sandbox = SANDBOX_INIT;
	if (request->name) {
		if (store_find(store, request->name, sandbox, &missing) == 0)
			return compare(request, sandbox, err) < 0 ? -1 : 1;
		if (missing.code == ENOENT && !request->must_exist)
			return 0;
		*err = missing;
		return -1;
	}
	/* --rm makes a new one each time */
	if (request->remove_at_end ||
	    !find_by_place(request, store, sandbox, &others))
		return 0;
	return compare(request, sandbox, err) < 0 ? -1 : 1;
}

static bool taken(const struct store *store, const char *name)
{
	for (size_t i = 0; i < store->count; i++)
		if (!strcmp(store->names[i], name))
			return true;
	return false;
}

/* name-SUFFIX, the name cut so that all fits; malloc'd. */
static char *with_suffix(const char *name, const char *suffix)
{
	AUTO_FREE char *tail = xstrdup(suffix);
	size_t room;

	for (char *c = tail; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
			    "YZ0123456789.-",
			    *c))
			*c = '-';
	if (strlen(tail) > 24)
		tail[24] = '\0';
	room = SANDBOX_NAME_MAX - strlen(tail) - 1;
	return xasprintf("%.*s-%s", (int)room, name, tail);
}

static char *throwaway_name(const char *plain)
{
	unsigned char noise[4];
	char hex[2 * sizeof(noise) + 1];

	if (getrandom(noise, sizeof(noise), 0) != sizeof(noise))
		abort();
	text_hex(noise, sizeof(noise), hex);
	return with_suffix(plain, hex);
}

char *request_new_name(const struct request *request, const struct store *store,
		       struct error *err)
{
	const char *agent = request_agent(request);
	AUTO_FREE char *plain = NULL;
	AUTO_FREE char *name = NULL;
	AUTO_SANDBOX struct sandbox other = SANDBOX_INIT;
	const char *path;
	size_t others = 0;

	if (!request->shares.count) {
		error_set(err, ENOENT,
			  "sandbox %s was removed just now (run it again)",
			  request->name);
		return NULL;
	}
	if (request->name)
		return xstrdup(request->name);
	path = request->shares.items[0].host;
	plain = sandbox_name_for(agent, path, false);
	if (request->remove_at_end)
		return throwaway_name(plain);
	find_by_place(request, store, &other, &others);
	if (others && request->template_name) {
		const char *tag = strrchr(request->template_name, ':');

		name = with_suffix(plain,
				   tag ? tag + 1 : request->template_name);
	} else {
		name = xstrdup(plain);
	}
	if (taken(store, name) || request_check_name(request, name, NULL) < 0) {
		free(name);
		name = sandbox_name_for(agent, path, true);
	}
	for (unsigned i = 2; i < 1000 && taken(store, name); i++) {
		char number[16];

		text_format(number, sizeof(number), "%u", i);
		free(name);
		name = with_suffix(plain, number);
	}
	if (request_check_name(request, name, err) < 0)
		return NULL;
	return TAKE_PTR(name);
}

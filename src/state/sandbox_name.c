/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_name.c - the rules of names
 */
#include "state/sandbox_record.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/digest.h"

#define NAME_MIN 2
#define HASH_LEN 8

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

static bool is_allowed(char c)
{
	return is_alnum(c) || c == '-' || c == '.';
}

int sandbox_name_check(const char *name, struct error *err)
{
	size_t len = strlen(name);
	char shown[80];

	text_printable(name, len, shown, sizeof(shown));
	if (len < NAME_MIN || len > SANDBOX_NAME_MAX)
		return error_set(err, 0,
				 "name \"%s\": must have %d to %d characters",
				 shown, NAME_MIN, SANDBOX_NAME_MAX);
	for (const char *c = name; *c; c++)
		if (!is_allowed(*c))
			return error_set(err, 0,
					 "name \"%s\": only letters, digits, "
					 "\".\" and \"-\" are allowed",
					 shown);
	if (!is_alnum(name[0]))
		return error_set(err, 0,
				 "name \"%s\": must begin with a letter or a "
				 "digit",
				 shown);
	if (!is_alnum(name[len - 1]))
		return error_set(err, 0,
				 "name \"%s\": may not end in \"-\" or \".\"",
				 shown);
	return 0;
}

/* The last component, characters that a name cannot have as "-". */
static char *folder_part(const char *path)
{
	size_t end = strlen(path), start, len = 0;
	char *part;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	if (start == end)
		return xstrdup("root");
	part = xmalloc(end - start + 1);
	for (size_t i = start; i < end; i++) {
		/* a character of several bytes becomes one "-" */
		if (((unsigned char)path[i] & 0xc0) == 0x80)
			continue;
		part[len++] = is_allowed(path[i]) ? path[i] : '-';
	}
	part[len] = '\0';
	return part;
}

static void trim_end(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && !is_alnum(text[len - 1]))
		text[--len] = '\0';
}

char *sandbox_name_for(const char *agent, const char *path, bool with_hash)
{
	AUTO_FREE char *part = folder_part(path);
	char hex[DIGEST_HEX];
	size_t room = SANDBOX_NAME_MAX - strlen(agent) - 1;

	digest_bytes(path, strlen(path), hex);
	hex[HASH_LEN] = '\0';
	if (with_hash)
		room -= HASH_LEN + 1;
	if (strlen(part) > room)
		part[room] = '\0';
	trim_end(part);
	/* nothing readable is left: the hash is all that tells it apart */
	if (!*part)
		return xasprintf("%s-%s", agent, hex);
	if (with_hash)
		return xasprintf("%s-%s-%s", agent, part, hex);
	return xasprintf("%s-%s", agent, part);
}

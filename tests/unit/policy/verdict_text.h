/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_text.h - what is asked and what is said, as words of a table
 *
 * Asked: "NAME:PORT" or "ADDRESS:PORT" ([v6]) for a connection, in front of it
 * a method and behind it a path for a request, "NAME>ADDRESS:PORT" for an
 * address that a name resolved to, "METHOD NAME>ADDRESS:PORT PATH" for both. A
 * path `-` is one that has no form.
 * Said: "allow", "deny" or "ask" (by request), then "#LINE" of the rule, then
 * facts: default, guarded, bypass, inspect, port, exact.
 */
#pragma once

#include <stddef.h>

struct address;
struct policy;

struct verdict_row {
	const char *rules, *asked, *want;
	const char *why; /* for the reader */
};

/* As a sandbox's rules; complains and returns NULL when they are refused. */
struct policy *verdict_compile(const char *rules);
/* How many rows are not as wanted; says which. own: an address of the host. */
unsigned verdict_rows_check(const struct verdict_row *rows, size_t count,
			    const struct address *own);
void verdict_text(const struct policy *policy, const char *asked, char *out,
		  size_t size);

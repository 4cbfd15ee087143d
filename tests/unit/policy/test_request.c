/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_request.c - verdicts on requests, one row a case
 *
 * The words are those of verdict_text.h.
 */
#include "policy/policy.h"

#include "base/own.h"
#include "lib/tap.h"
#include "verdict_text.h"

#define CHECK_ROWS(rows) \
	CHECK(verdict_rows_check(rows, ARRAY_SIZE(rows), NULL) == 0)

static void conditions_need_a_request(void)
{
	static const struct verdict_row rows[] = {
		{ "GET x.com", "x.com:443", "ask#1 exact", "methods" },
		{ "x.com/a", "x.com:443", "ask#1 exact", "path" },
		{ "x.com/**", "x.com:443", "allow#1 exact", "every path" },
		{ "x.com\nGET x.com", "x.com:443", "allow#1 exact",
		  "allowed anyway" },
		{ "x.com\ndeny PUT x.com", "x.com:443", "ask#1 exact",
		  "some are denied" },
		{ "x.com\ndeny x.com/secret/**", "x.com:443", "ask#1 exact",
		  "some are denied" },
		{ "GET x.com\ndeny x.com", "x.com:443", "deny#2", "all are" },
		{ "deny PUT x.com", "x.com:443", "deny default",
		  "nothing is allowed" },
		{ "default allow\ndeny PUT x.com", "x.com:443", "ask default",
		  "some are denied" },
		{ "default allow\nGET x.com", "x.com:443", "allow default",
		  "the default allows the rest anyway" },
		{ "default allow\nGET x.com\ndeny PUT x.com", "x.com:443",
		  "ask default exact", "some are denied" },
		{ "**\nGET x.com\ndeny PUT x.com", "x.com:443", "ask#1 exact",
		  "by request an exact host may count" },
		{ "GET x.com:8080", "x.com:8080", "ask#1 port exact", "port" },
		{ "GET x.com:8080", "x.com:443", "deny default", "port" },
		{ "bypass x.com\ndeny PUT x.com", "x.com:443",
		  "ask#1 bypass exact", "in plain text it can be decided" },
		{ "GET *.x.com", "a.x.com:443", "ask#1", "not exact" },
		{ "GET 192.0.2.0/24:80/a", "192.0.2.9:80", "ask#1 port", "" },
	};

	CHECK_ROWS(rows);
}

static void requests_are_decided(void)
{
	static const struct verdict_row rows[] = {
		{ "GET x.com", "GET x.com:443 /", "allow#1 exact", "method" },
		{ "GET x.com", "HEAD x.com:443 /", "deny default", "another" },
		{ "GET x.com", "get x.com:443 /", "deny default",
		  "a method is not its small letters" },
		{ "deny POST x.com\nx.com", "post x.com:443 /", "deny#1",
		  "but a server may think so" },
		{ "deny POST x.com\nx.com", "FOO x.com:443 /", "deny#1",
		  "what nobody knows could be that" },
		{ "deny POST x.com\nx.com", "DELETE x.com:443 /",
		  "allow#2 exact", "what is known is not" },
		{ "GET x.com", "FOO x.com:443 /", "deny default", "unknown" },
		{ "x.com", "FOO x.com:443 /", "allow#1 exact", "no method" },
		{ "GET,POST x.com/a/**", "POST x.com:80 /a/b", "allow#1 exact",
		  "both" },
		{ "GET,POST x.com/a/**", "POST x.com:80 /b", "deny default",
		  "path" },
		{ "x.com\ndeny x.com/s", "GET x.com:80 /s", "deny#2", "deny" },
		{ "x.com\ndeny x.com/s", "GET x.com:80 /t", "allow#1 exact",
		  "else" },
		{ "default allow\ndeny PUT **", "PUT x.com:80 /", "deny#2",
		  "default" },
		{ "default allow\ndeny PUT **", "GET x.com:80 /",
		  "allow default", "default" },
		{ "GET x.com\n**/a", "GET x.com:80 /a", "allow#1 exact",
		  "first of the conditional" },
		{ "GET **\nGET x.com", "GET x.com:80 /a", "allow#1 exact",
		  "facts of all" },
		{ "GET x.com\n**", "GET x.com:80 /", "allow#2 exact",
		  "unconditional ones first" },
		{ "x.com\ndeny GET x.com\ndeny x.com/a\ndeny x.com:80",
		  "GET x.com:80 /a", "deny#4", "unconditional ones first" },
		{ "bypass x.com\ninspect x.com", "GET x.com:80 /",
		  "allow#1 bypass exact", "bypass wins" },
		{ "x.com\ninspect *.com", "GET x.com:80 /",
		  "allow#1 inspect exact", "inspect" },
		{ "GET 192.0.2.1:80", "GET 192.0.2.1:80 /",
		  "allow#1 port exact", "address" },
		{ "x.com\ndeny GET 192.0.2.0/24:80", "GET x.com>192.0.2.1:80 /",
		  "deny#2", "where the name leads can deny" },
		{ "x.com\ndeny 192.0.2.0/24", "GET x.com>192.0.2.1:80 /",
		  "deny#2", "and without a condition" },
		{ "x.com\n192.0.2.1", "GET y.com>192.0.2.1:80 /",
		  "deny default", "and not allow" },
		{ "x.com", "GET x.com>10.0.0.1:80 /", "allow#1 exact",
		  "whether it may be used was decided before" },
	};

	CHECK_ROWS(rows);
}

static void paths_are_matched_by_segments(void)
{
	static const struct verdict_row rows[] = {
		{ "x/", "GET x:80 /", "allow#1 exact", "the root" },
		{ "x/", "GET x:80 /a", "deny default", "not below" },
		{ "x/a", "GET x:80 /a", "allow#1 exact", "itself" },
		{ "x/a", "GET x:80 /a/", "deny default", "not the folder" },
		{ "x/a", "GET x:80 /ab", "deny default", "not part" },
		{ "x/a", "GET x:80 /a/b", "deny default", "not below" },
		{ "x/a/", "GET x:80 /a/", "allow#1 exact", "the folder" },
		{ "x/a/", "GET x:80 /a", "deny default", "not the file" },
		{ "x/a/**", "GET x:80 /a", "allow#1 exact", "none" },
		{ "x/a/**", "GET x:80 /a/", "allow#1 exact", "one, empty" },
		{ "x/a/**", "GET x:80 /a/b/c", "allow#1 exact", "two" },
		{ "x/a/**", "GET x:80 /ab", "deny default", "part" },
		{ "x/a/*", "GET x:80 /a/b", "allow#1 exact", "one" },
		{ "x/a/*", "GET x:80 /a/b/c", "deny default", "two" },
		{ "x/a/*", "GET x:80 /a", "deny default", "none" },
		{ "x/*/b", "GET x:80 /a/b", "allow#1 exact", "middle" },
		{ "x/*/b", "GET x:80 /a/c/b", "deny default", "two" },
		{ "x/**/b", "GET x:80 /b", "allow#1 exact", "none" },
		{ "x/**/b", "GET x:80 /a/c/b", "allow#1 exact", "two" },
		{ "x/**/b", "GET x:80 /a/b/c", "deny default", "not last" },
		{ "x/**/b/**", "GET x:80 /a/b/c", "allow#1 exact", "any" },
		{ "x/**/b/**", "GET x:80 /b", "allow#1 exact", "alone" },
		{ "x/a/**/*", "GET x:80 /a", "deny default", "at least one" },
		{ "x/a/**/*", "GET x:80 /a/b", "allow#1 exact", "one" },
		{ "x/a/**/b/**/c", "GET x:80 /a/b/c", "allow#1 exact",
		  "tight" },
		{ "x/a/**/b/**/c", "GET x:80 /a/c/b/b/c", "allow#1 exact",
		  "later" },
		{ "x/a/**/b/**/c", "GET x:80 /a/c/b", "deny default", "order" },
		{ "x/a*c", "GET x:80 /ac", "allow#1 exact", "nothing" },
		{ "x/a*c", "GET x:80 /abbc", "allow#1 exact", "something" },
		{ "x/a*c", "GET x:80 /a/c", "deny default", "no slash" },
		{ "x/aa*aa", "GET x:80 /aaa", "deny default", "no overlap" },
		{ "x/*.tgz", "GET x:80 /p.tgz", "allow#1 exact", "suffix" },
		{ "x/*.tgz", "GET x:80 /p.tgz.exe", "deny default", "suffix" },
		{ "x/p-*", "GET x:80 /p-1", "allow#1 exact", "prefix" },
		{ "x/A", "GET x:80 /a", "deny default", "case counts" },
		{ "x/A*", "GET x:80 /ab", "deny default", "case counts" },
		{ "x\ndeny x/Se*t/A", "GET x:80 /SEcrET/a", "deny#2",
		  "but not to deny" },
		{ "x\ndeny x/s", "GET x:80 /s/", "deny#2",
		  "nor a slash at the end" },
		{ "x\ndeny x/s/", "GET x:80 /s", "deny#2", "nor there" },
		{ "x\ndeny x/s/t", "GET x:80 //s//t", "deny#2",
		  "nor empty segments" },
		{ "x\ndeny x/", "GET x:80 /", "deny#2", "the root" },
		{ "x\ndeny x/", "GET x:80 /a", "allow#1 exact", "only" },
		{ "x\ndeny x/**/git-receive-pack",
		  "POST x:80 /o/r/git-receive-pack", "deny#2", "E18" },
		/* a path without a form (see struct policy_request) */
		{ "x/a", "GET x:80 -", "deny default", "cannot allow" },
		{ "x", "GET x:80 -", "allow#1 exact", "no path asked" },
		{ "GET x", "GET x:80 -", "allow#1 exact", "no path asked" },
		{ "x\ndeny x/a", "GET x:80 -", "deny#2", "could be that" },
		{ "x\ndeny PUT x/a", "GET x:80 -", "allow#1 exact",
		  "but not with this method" },
		{ "x\ndeny PUT x/a", "PUT x:80 -", "deny#2", "method" },
		{ "x\ndeny x:81/a", "GET x:80 -", "allow#1 exact",
		  "nor on this port" },
		{ "x", "OPTIONS x:80 *", "allow#1 exact", "no path at all" },
		{ "x/a", "OPTIONS x:80 *", "deny default", "no path at all" },
	};

	CHECK_ROWS(rows);
}

static void many_globs_are_found_too(void)
{
	static const struct verdict_row rows[] = {
		{ "x/a1*\nx/a2*\nx/a3*\nx/a4*\nx/bb*\nx/*cc\nx/*c\nx/d*d",
		  "GET x:80 /a3z", "allow#3 exact", "prefix" },
		{ "x/a1*\nx/a2*\nx/a3*\nx/a4*\nx/bb*\nx/*cc\nx/*c\nx/d*d",
		  "GET x:80 /zcc", "allow#6 exact", "suffix" },
		{ "x/a1*\nx/a2*\nx/a3*\nx/a4*\nx/bb*\nx/*cc\nx/*c\nx/d*d",
		  "GET x:80 /zc", "allow#7 exact", "shorter" },
		{ "x/a1*\nx/a2*\nx/a3*\nx/a4*\nx/bb*\nx/*cc\nx/*c\nx/d*d",
		  "GET x:80 /d", "deny default", "both ends need a byte" },
		{ "x/a1*\nx/a2*\nx/a3*\nx/a4*\nx/bb*\nx/*cc\nx/*c\nx/d*d",
		  "GET x:80 /dd", "allow#8 exact", "both ends" },
		{ "x/a1*\nx/a2*\nx/a3*\nx/a4*\nx/bb*\nx/*cc\nx/*c\nx/d*d",
		  "GET x:80 /b", "deny default", "shorter than any" },
	};

	CHECK_ROWS(rows);
}

int main(void)
{
	RUN(conditions_need_a_request);
	RUN(requests_are_decided);
	RUN(paths_are_matched_by_segments);
	RUN(many_globs_are_found_too);
	return DONE();
}

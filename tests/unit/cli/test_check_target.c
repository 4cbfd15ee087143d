/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_check_target.c - where a connection would go, as it is typed
 */
#include "base/error.h"
#include "cli/check_target.h"
#include "cli/options.h"
#include "lib/tap.h"

static struct check_target target;
static struct error err;

static bool means(const char *text, const char *authority, const char *path)
{
	char shown[AUTHORITY_TEXT_SIZE];

	if (check_target_parse(text, &target, &err) < 0)
		return false;
	authority_format(&target.authority, shown);
	return !strcmp(shown, authority) &&
	       !strcmp(target.path ? target.path : "-", path);
}

static void every_form_is_understood(void)
{
	CHECK(means("Example.com", "example.com:443", "-"));
	CHECK(target.is_encrypted);
	CHECK(means("example.com:22", "example.com:22", "-"));
	CHECK(!target.is_encrypted);
	CHECK(means("example.com/a/b", "example.com:443", "/a/b"));
	CHECK(means("https://example.com", "example.com:443", "-"));
	CHECK(means("https://example.com:8443/x?y", "example.com:8443",
		    "/x?y"));
	CHECK(means("http://example.com?y", "example.com:80", "/"));
	CHECK(!target.is_encrypted);
	CHECK(means("192.0.2.1", "192.0.2.1:443", "-"));
	CHECK(means("[2001:db8::1]:22", "[2001:db8::1]:22", "-"));
	CHECK(means("2001:db8::1", "[2001:db8::1]:443", "-"));
	CHECK(means("localhost:5432", "localhost:5432", "-"));
}

static void anything_else_is_a_usage_error(void)
{
	static const char *const bad[] = {
		"",         "/",
		"https://", "ftp://a.com",
		"a.com:",   "a.com:0",
		"a.com:x",  "a.com:65536",
		"u@a.com",  "https://u:p@a.com",
		"*.a.com",  "0x7f.1",
		"a..com",   "a com",
		"[::1",     "2001:db8::1/x",
		"\033[2J",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool refused = check_target_parse(bad[i], &target, &err) < 0;

		CHECK(refused);
		CHECK(err.code == OPTIONS_USAGE);
		CHECK(!strchr(err.text, '\033'));
	}
}

int main(void)
{
	RUN(every_form_is_understood);
	RUN(anything_else_is_a_usage_error);
	return DONE();
}

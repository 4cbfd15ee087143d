/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_registries.c - the file of mirrors
 */
#include "oci/registries.h"

#include "base/error.h"
#include "lib/tap.h"

static struct registries_entry entry;
static struct error err;

static void mirrors_are_found_in_order(void)
{
	const char *text = "# comment\n\n"
			   "[docker.io]\n"
			   "mirror = a.example/hub/x/\r\n"
			   "  mirror=http://localhost:5000\n"
			   "mirror = https://b.example:444\n"
			   "[other.example]\n"
			   "mirror = c.example\n"
			   "ca = /etc/x.pem\n";

	CHECK(registries_find(text, "docker.io", &entry, &err) == 0);
	CHECK(entry.mirror_count == 3 && !entry.ca[0]);
	CHECK(!strcmp(entry.mirrors[0].host, "a.example"));
	CHECK(!strcmp(entry.mirrors[0].prefix, "hub/x"));
	CHECK(!entry.mirrors[0].http);
	CHECK(!strcmp(entry.mirrors[1].host, "localhost:5000"));
	CHECK(entry.mirrors[1].http && !entry.mirrors[1].prefix[0]);
	CHECK(!strcmp(entry.mirrors[2].host, "b.example:444"));
	CHECK(registries_find(text, "other.example", &entry, &err) == 0);
	CHECK(entry.mirror_count == 1 && !strcmp(entry.ca, "/etc/x.pem"));
	CHECK(registries_find(text, "none.example", &entry, &err) == 0);
	CHECK(entry.mirror_count == 0);
	CHECK(registries_find("", "x", &entry, &err) == 0);
}

static void every_line_is_checked(void)
{
	static const char *const rows[] = {
		"mirror = x",
		"[docker.io\n",
		"[]",
		"[a b]",
		"[x]\nmirror",
		"[x]\nmirror =",
		"[x]\nmirror = http://example.org",
		"[x]\nmirror = http://127.0.0.1.example.org",
		"[x]\nmirror = ftp://x",
		"[x]\nmirror = a.b/../c",
		"[x]\nmirror = a.b/C",
		"[x]\nmirror = a.b/c:d",
		"[x]\nmirror = user@a.b",
		"[x]\nca = relative",
		"[x]\nother = y",
		"[x]\nmirror=a\nmirror=a\nmirror=a\nmirror=a\nmirror=a\n"
		"mirror=a\nmirror=a\nmirror=a\nmirror=a",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK(registries_find(rows[i], "x", &entry, &err) < 0);
		CHECK(!strncmp(err.text, "line ", 5));
	}
	/* also in the section of another registry */
	CHECK(registries_find("[y]\nother = z", "x", &entry, &err) < 0);
}

int main(void)
{
	RUN(mirrors_are_found_in_order);
	RUN(every_line_is_checked);
	return DONE();
}

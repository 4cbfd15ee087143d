/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_apt_sources.c - which package sources a template may use
 */
#include "provision/apt_sources.h"

#include "base/buffer.h"
#include "base/error.h"
#include "lib/tap.h"

static struct error err;

static void check(const char *text, enum apt_sources_style style,
		  const char *want)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4096);

	CHECK(apt_sources_select(text, style, "bookworm", &out, &err) == 0);
	CHECK(!strcmp(out.len ? buffer_str(&out) : "", want));
}

static void lines_of_the_release_are_taken(void)
{
	check("# comment\n"
	      "deb http://a.example/debian bookworm main contrib # why\n"
	      "deb-src http://a.example/debian bookworm main\n"
	      "deb [arch=amd64 signed-by=/k.gpg] http://b.example "
	      "bookworm-security main\n",
	      APT_SOURCES_LIST,
	      "deb http://a.example/debian bookworm main contrib \n"
	      "deb [signed-by=/k.gpg] http://b.example bookworm-security "
	      "main\n");
}

static void third_parties_are_left_out(void)
{
	check("deb http://c.example/docker bookworm stable\n"
	      "deb http://c.example/node nodistro main\n"
	      "deb http://c.example/x bookworm-backports main\n"
	      "deb http://c.example/x sdk-bookworm main\n",
	      APT_SOURCES_LIST, "");
}

static void paragraphs_are_read(void)
{
	check("Types: deb deb-src\nURIs: http://a.example/debian\n"
	      "# a remark\n"
	      "Suites: bookworm bookworm-updates other\nComponents: main\n"
	      "Signed-By: /k.gpg\n"
	      "\n"
	      "Types: deb\nURIs: http://b.example\nSuites: bookworm\n"
	      "Components: main\nEnabled: no\n",
	      APT_SOURCES_DEB822,
	      "deb [signed-by=/k.gpg] http://a.example/debian bookworm main\n"
	      "deb [signed-by=/k.gpg] http://a.example/debian "
	      "bookworm-updates main\n");
}

static void a_key_in_place_is_not_taken_for_a_path(void)
{
	check("Types: deb\nURIs: http://b.example\nSuites: bookworm\n"
	      "Components: main\nSigned-By:\n -----BEGIN\n abc: def\n",
	      APT_SOURCES_DEB822, "deb http://b.example bookworm main\n");
}

static void nonsense_gives_nothing(void)
{
	check("deb\ndeb [\ndeb [x]\ndeb a\ndeb a bookworm\n\n::\n",
	      APT_SOURCES_LIST, "");
	check("deb\n:\nSuites: bookworm\n\n\n", APT_SOURCES_DEB822, "");
}

int main(void)
{
	RUN(lines_of_the_release_are_taken);
	RUN(third_parties_are_left_out);
	RUN(paragraphs_are_read);
	RUN(a_key_in_place_is_not_taken_for_a_path);
	RUN(nonsense_gives_nothing);
	return DONE();
}

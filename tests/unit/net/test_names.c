/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_names.c - which synthetic address stands for which name
 */
#include "net/names.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "lib/tap.h"
#include "wire/address.h"

static struct names names;
static struct error err;

static int file_with(const char *text)
{
	int fd = memfd_create("names", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

static const char *address_for(const char *name, enum names_range range)
{
	static char text[ADDRESS_TEXT_SIZE];
	struct address address;

	if (names_address(&names, name, range, &address, &err) < 0)
		return "none";
	address_format(&address, text);
	return text;
}

static const char *name_of(const char *text)
{
	struct address address;

	CHECK(address_parse(text, strlen(text), &address) == 0);
	return names_find(&names, &address);
}

static void each_name_has_one_address(void)
{
	int fd = file_with("");

	REQUIRE(names_open(&names, fd, &err) == 0);
	CHECK(!strcmp(address_for("a.example", NAMES_MATCHED), "198.18.0.1"));
	CHECK(!strcmp(address_for("b.example", NAMES_MATCHED), "198.18.0.2"));
	CHECK(!strcmp(address_for("c.example", NAMES_OTHER), "198.19.0.1"));
	/* Also when a rule has come or gone meanwhile. */
	CHECK(!strcmp(address_for("a.example", NAMES_OTHER), "198.18.0.1"));
	CHECK(!strcmp(name_of("198.18.0.2"), "b.example"));
	CHECK(!strcmp(name_of("198.19.0.1"), "c.example"));
	CHECK(!name_of("198.18.0.0") && !name_of("198.18.0.3"));
	CHECK(!name_of("198.19.0.2") && !name_of("203.0.113.1"));
	CHECK(!name_of("2001:db8::1"));
	CHECK(names_count(&names) == 3);
	names_release(&names);
	close(fd);
}

static void what_was_given_is_known_after_a_restart(void)
{
	int fd = file_with("");

	REQUIRE(names_open(&names, fd, &err) == 0);
	address_for("a.example", NAMES_MATCHED);
	address_for("c.example", NAMES_OTHER);
	names_release(&names);
	REQUIRE(names_open(&names, fd, &err) == 0);
	CHECK(!strcmp(name_of("198.18.0.1"), "a.example"));
	CHECK(!strcmp(name_of("198.19.0.1"), "c.example"));
	CHECK(!strcmp(address_for("d.example", NAMES_MATCHED), "198.18.0.2"));
	names_release(&names);
	close(fd);
}

static void a_line_that_a_crash_cut_is_removed(void)
{
	int fd = file_with("198.18.0.1 a.example\n198.18.0.2 b.exa");

	REQUIRE(names_open(&names, fd, &err) == 0);
	CHECK(names_count(&names) == 1);
	CHECK(lseek(fd, 0, SEEK_END) == 21);
	CHECK(!strcmp(address_for("x.example", NAMES_MATCHED), "198.18.0.2"));
	names_release(&names);
	REQUIRE(names_open(&names, fd, &err) == 0);
	CHECK(!strcmp(name_of("198.18.0.2"), "x.example"));
	names_release(&names);
	close(fd);
}

static void anything_else_is_an_error_with_its_line(void)
{
	static const char *const bad[] = {
		"198.18.0.1 a.example\n198.18.0.1 b.example\n",
		"198.18.0.1 a.example\n198.18.0.3 b.example\n",
		"198.18.0.1 a.example\n198.18.0.2 a.example\n",
		"198.18.0.1 a.example\n198.18.0.2 A.example\n",
		"198.18.0.1 a.example\n198.18.0.2\n",
		"198.18.0.1 a.example\n198.18.0.2 b.example \n",
		"198.18.0.1 a.example\n198.18.0.2  b.example\n",
		"198.18.0.1 a.example\n198.19.255.2 b.example\n",
		"198.18.0.1 a.example\n127.0.0.1 b.example\n",
		"198.18.0.1 a.example\n::1 b.example\n",
		"198.18.0.1 a.example\n\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = file_with(bad[i]);

		err = (struct error){ 0 };
		CHECK(names_open(&names, fd, &err) == -1);
		CHECK(strstr(err.text, "line 2"));
		names_release(&names);
		close(fd);
	}
}

static void a_full_range_gives_none_and_the_other_still_does(void)
{
	char name[32];

	REQUIRE(names_open(&names, -1, &err) == 0);
	for (int i = 0; i < NAMES_OTHER_MAX; i++) {
		(void)text_format(name, sizeof(name), "n%d.example", i);
		if (!strcmp(address_for(name, NAMES_OTHER), "none"))
			break;
	}
	CHECK(names_count(&names) == NAMES_OTHER_MAX);
	CHECK(!strcmp(name_of("198.19.127.255"), "n32766.example"));
	CHECK(!strcmp(address_for("one.more", NAMES_OTHER), "none"));
	CHECK(err.code == ENOSPC);
	CHECK(!strcmp(address_for("n5.example", NAMES_OTHER), "198.19.0.6"));
	CHECK(!strcmp(address_for("good.example", NAMES_MATCHED),
		      "198.18.0.1"));
	names_release(&names);
}

static void an_address_that_cannot_be_written_is_not_given(void)
{
	const struct rlimit small = { 30, RLIM_INFINITY };
	struct rlimit before;
	int fd = file_with("");

	signal(SIGXFSZ, SIG_IGN);
	CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
	REQUIRE(names_open(&names, fd, &err) == 0);
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	CHECK(!strcmp(address_for("a.example", NAMES_MATCHED), "198.18.0.1"));
	CHECK(!strcmp(address_for("b.example", NAMES_MATCHED), "none"));
	CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
	/* The file ends in half a line: nothing may be joined to it. */
	CHECK(!strcmp(address_for("b.example", NAMES_MATCHED), "none"));
	CHECK(!name_of("198.18.0.2"));
	names_release(&names);
	REQUIRE(names_open(&names, fd, &err) == 0);
	CHECK(!strcmp(address_for("b.example", NAMES_MATCHED), "198.18.0.2"));
	names_release(&names);
	close(fd);
}

static void the_whole_range_is_ours(void)
{
	struct address address;

	address_parse("198.18.0.0", 10, &address);
	CHECK(names_is_ours(&address));
	address_parse("198.19.255.255", 14, &address);
	CHECK(names_is_ours(&address));
	address_parse("198.17.255.255", 14, &address);
	CHECK(!names_is_ours(&address));
	address_parse("198.20.0.0", 10, &address);
	CHECK(!names_is_ours(&address));
	address_parse("::c612:1", 8, &address);
	CHECK(!names_is_ours(&address));
}

int main(void)
{
	RUN(each_name_has_one_address);
	RUN(what_was_given_is_known_after_a_restart);
	RUN(a_line_that_a_crash_cut_is_removed);
	RUN(anything_else_is_an_error_with_its_line);
	RUN(a_full_range_gives_none_and_the_other_still_does);
	RUN(an_address_that_cannot_be_written_is_not_given);
	RUN(the_whole_range_is_ours);
	return DONE();
}

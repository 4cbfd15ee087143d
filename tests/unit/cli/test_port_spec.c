/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_port_spec.c - ports of a sandbox as they are written
 */
#include "base/error.h"
#include "cli/port_spec.h"
#include "lib/tap.h"

static struct port_record port;
static struct error err;

/* True when text means the same as the full form. */
static bool means(const char *text, const char *full)
{
	char again[PORT_SPEC_TEXT_SIZE];

	if (port_spec_parse(text, &port, &err) < 0)
		return false;
	port_spec_format(&port, again);
	return !strcmp(again, full);
}

static void every_form_is_understood(void)
{
	CHECK(means("3000", "127.0.0.1:0:3000"));
	CHECK(means("8080:3000", "127.0.0.1:8080:3000"));
	CHECK(means("8080:3000/tcp", "127.0.0.1:8080:3000"));
	CHECK(means("0.0.0.0:8080:3000", "0.0.0.0:8080:3000"));
	CHECK(means("0.0.0.0::3000", "0.0.0.0:0:3000"));
	CHECK(means("[::1]:8080:3000", "[::1]:8080:3000"));
	CHECK(means("[::]:65535:1", "[::]:65535:1"));
	CHECK(means("[0:0::1]::1", "[::1]:0:1"));
}

static void what_is_no_port_is_refused(void)
{
	static const char *const bad[] = {
		"",
		":",
		"::",
		":3000",
		"0",
		"65536",
		"-1",
		"+1",
		" 1",
		"1 ",
		"8080:",
		"8080:0",
		"0:3000",
		"x",
		"8080:x",
		"localhost:8080:3000",
		"127.0.0.1:3000",
		"127.1:8080:3000",
		"1:2:3:4",
		"::1:8080:3000",
		"[::1]8080:3000",
		"[::1:8080:3000",
		"[127.0.0.1]:8080:3000",
		"[fe80::1%lo]:1:2",
		"8080:3000/udp",
		"8080:3000/",
		"8080:3000/tcp/tcp",
		"[]:1:2",
		"1.2.3.4:",
		"1.2.3.4:5:",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool refused = port_spec_parse(bad[i], &port, &err) < 0;

		CHECK(refused);
		if (!refused)
			printf("# %s\n", bad[i]);
	}
}

static void an_error_is_fit_for_a_terminal(void)
{
	CHECK(port_spec_parse("\033[2J", &port, &err) < 0);
	CHECK(!strchr(err.text, '\033'));
	CHECK(port_spec_parse("8080:3000/udp", &port, &err) < 0);
	CHECK(strstr(err.text, "only tcp"));
}

static void a_text_cut_anywhere_is_read_within_its_bounds(void)
{
	static const char text[] = "[2001:db8::1]:8080:3000/tcp";
	char cut[sizeof(text)];

	for (size_t len = 0; len < sizeof(text); len++) {
		char *exact = malloc(len + 1);

		memcpy(cut, text, len);
		cut[len] = '\0';
		memcpy(exact, cut, len + 1);
		port_spec_parse(exact, &port, &err);
		free(exact);
	}
	CHECK(means(text, "[2001:db8::1]:8080:3000"));
}

static void a_free_port_is_chosen_where_none_is_given(void)
{
	CHECK(port_spec_parse("3000", &port, &err) == 0);
	CHECK(port_spec_choose(&port, &err) == 0 && port.host >= 1024);
	port.host = 8080;
	CHECK(port_spec_choose(&port, &err) == 0 && port.host == 8080);
	CHECK(port_spec_parse("192.0.2.1::3000", &port, &err) == 0);
	CHECK(port_spec_choose(&port, &err) < 0);
}

static void loopback_is_not_open_to_others(void)
{
	CHECK(means("1", "127.0.0.1:0:1") && !port_spec_is_open(&port));
	CHECK(means("127.9.9.9::1", "127.9.9.9:0:1"));
	CHECK(!port_spec_is_open(&port));
	CHECK(means("[::1]::1", "[::1]:0:1") && !port_spec_is_open(&port));
	CHECK(means("0.0.0.0::1", "0.0.0.0:0:1") && port_spec_is_open(&port));
	CHECK(means("[::]::1", "[::]:0:1") && port_spec_is_open(&port));
}

static void a_list_is_cut_at_a_whole_entry_of_the_cell(void)
{
	struct port_list list = { .count = 2 };
	char cell[80], narrow[24];

	CHECK(port_spec_parse("8080:3000", &list.items[0], &err) == 0);
	CHECK(port_spec_parse("[::1]:8081:3001", &list.items[1], &err) == 0);
	port_spec_list(&list, cell, sizeof(cell));
	CHECK(!strcmp(cell, "127.0.0.1:8080->3000, [::1]:8081->3001"));
	port_spec_list(&list, narrow, sizeof(narrow));
	CHECK(strlen(narrow) < sizeof(narrow));
}

int main(void)
{
	RUN(every_form_is_understood);
	RUN(what_is_no_port_is_refused);
	RUN(an_error_is_fit_for_a_terminal);
	RUN(a_text_cut_anywhere_is_read_within_its_bounds);
	RUN(a_free_port_is_chosen_where_none_is_given);
	RUN(loopback_is_not_open_to_others);
	RUN(a_list_is_cut_at_a_whole_entry_of_the_cell);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mcp_kept.c - what `create --mcp` keeps for the commands to come
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "cli/mcp_host.h"
#include "lib/tap.h"

static char name[] = "/tmp/bawn-mcp-XXXXXX";
static int folder = -1;

static json_t *kept_of(const char *text, size_t len)
{
	struct error err = { 0 };

	CHECK(fileio_replace(folder, "mcp.json", text, len, 0600, 0, &err) ==
	      0);
	return mcp_host_kept(folder);
}

static void nothing_is_kept_at_first(void)
{
	struct error err = { 0 };

	CHECK(mcp_host_kept(folder) == NULL);
	CHECK(mcp_host_given(NULL) == NULL);
	/* no option, no file */
	CHECK(mcp_host_keep(folder, NULL, &err) == 0);
	CHECK(faccessat(folder, "mcp.json", F_OK, 0) < 0);
}

static void words_come_back_and_no_part_of_them_does(void)
{
	static const char text[] = "[\"a=cat\",\"b-2=exec x = y\"]";
	json_t *words = kept_of(text, strlen(text));

	CHECK(json_array_size(words) == 2);
	CHECK(!strcmp(json_string_value(json_array_get(words, 1)),
		      "b-2=exec x = y"));
	json_decref(words);
	for (size_t len = 0; len < strlen(text); len++)
		CHECK(kept_of(text, len) == NULL);
}

static void what_is_no_list_of_commands_is_left_alone(void)
{
	static const char *const bad[] = { "[]",       "{}",
					   "[1]",      "[\"a\"]",
					   "[\"a=\"]", "[\"/x=cat\"]",
					   "\"a=b\"",  "[\"a=b\",null]" };
	char many[17 * 8 + 2] = "[";

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(kept_of(bad[i], strlen(bad[i])) == NULL);
	for (unsigned i = 0; i < MCP_HOST_SOCKETS + 1; i++)
		memcpy(many + strlen(many), i ? ",\"a=b\"" : "\"a=b\"", 7 - !i);
	memcpy(many + strlen(many), "]", 2);
	CHECK(kept_of(many, strlen(many)) == NULL);
}

int main(void)
{
	CHECK(mkdtemp(name) != NULL);
	folder = open(name, O_RDONLY | O_DIRECTORY);
	RUN(nothing_is_kept_at_first);
	RUN(words_come_back_and_no_part_of_them_does);
	RUN(what_is_no_list_of_commands_is_left_alone);
	unlinkat(folder, "mcp.json", 0);
	close(folder);
	rmdir(name);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_mcp_line.c - messages between a guest and an MCP server of the host
 */
#include "cli/mcp_line.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp_line line;
	json_t *log;

	if (mcp_line_parse((const char *)data, size, &line) < 0)
		return 0;
	FUZZ_CHECK(line.kind < MCP_KINDS);
	FUZZ_CHECK(!strchr(line.method, '\033') && !strchr(line.id, '\n'));
	FUZZ_CHECK(line.kind != MCP_REQUEST || memchr(line.method, 0, 65));
	log = mcp_line_log(&line, "x", "guest", size);
	FUZZ_CHECK(log);
	json_decref(log);
	return 0;
}

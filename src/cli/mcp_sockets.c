/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_sockets.c - the sockets by which a sandbox reaches MCP servers of the
 * host
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/mcp_host.h"
#include "cli/options.h"
#include "state/paths.h"
#include "state/socket_list.h"

#define OPTION "mcp"

void mcp_host_file(const char *name, char out[MCP_NAME_MAX + 16])
{
	(void)text_format(out, MCP_NAME_MAX + 16, "mcp-%s.sock", name);
}

int mcp_host_sockets(const struct options *options, struct socket_list *sockets,
		     struct error *err)
{
	char name[MCP_NAME_MAX + 1], host[64], guest[64];
	const char *word;
	size_t at = 0;

	while ((word = options_next(options, OPTION, &at))) {
		const struct socket_record one = { .host = host,
						   .guest = guest };

		if (!mcp_line_command(word, name))
			return options_usage(err,
					     "--mcp takes NAME=CMD, NAME of "
					     "a-z, 0-9 and \"-\"");
		(void)text_format(host, sizeof(host), MCP_HOST_PREFIX "%s",
				  name);
		(void)text_format(guest, sizeof(guest), "/run/bawn/mcp/%s.sock",
				  name);
		if (socket_list_add(sockets, &one, err) < 0)
			return error_prefix(err, "--mcp");
	}
	return 0;
}

char *mcp_host_path(const char *sandbox, const char *host, struct error *err)
{
	char file[MCP_NAME_MAX + 16];
	AUTO_FREE char *sub = NULL;

	if (!text_starts(host, MCP_HOST_PREFIX))
		return xstrdup(host);
	mcp_host_file(host + strlen(MCP_HOST_PREFIX), file);
	sub = xasprintf("sandboxes/%s/%s", sandbox, file);
	return paths_of(PATHS_STATE, sub, err);
}

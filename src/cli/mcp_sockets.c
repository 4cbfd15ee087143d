/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_sockets.c - the sockets by which a sandbox reaches MCP servers of the
 * host
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/mcp_host.h"
#include "cli/options.h"
#include "state/paths.h"
#include "state/socket_list.h"

#define OPTION "mcp"
#define KEPT_MAX (64u * 1024)

AUTO_DEFINE(json, json_t *, json_decref)

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

json_t *mcp_host_given(const struct options *options)
{
	json_t *words = NULL;
	const char *word;
	size_t at = 0;

	while (options && (word = options_next(options, OPTION, &at))) {
		if (!words)
			words = json_array();
		json_array_append_new(words, json_string(word));
	}
	return words;
}

int mcp_host_keep(int folder, const struct options *options, struct error *err)
{
	AUTO(json) json_t *words = mcp_host_given(options);
	AUTO_FREE char *text =
		words ? json_dumps(words, JSON_COMPACT | JSON_ENSURE_ASCII)
		      : NULL;

	if (!words)
		return 0;
	if (!text)
		return error_set(err, EILSEQ, "--mcp: not UTF-8");
	return fileio_replace(folder, MCP_HOST_KEPT, text, strlen(text), 0600,
			      FILEIO_SYNC, err);
}

static bool are_words(const json_t *words)
{
	char name[MCP_NAME_MAX + 1];
	const json_t *word;
	size_t i;

	if (!json_array_size(words) ||
	    json_array_size(words) > MCP_HOST_SOCKETS)
		return false;
	json_array_foreach(words, i, word)
	{
		if (!json_is_string(word) ||
		    !mcp_line_command(json_string_value(word), name))
			return false;
	}
	return true;
}

json_t *mcp_host_kept(int folder)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(KEPT_MAX);
	json_t *words;

	if (fileio_read(folder, MCP_HOST_KEPT, &text, NULL) < 0)
		return NULL;
	words = json_loadb((const char *)text.data, text.len, 0, NULL);
	if (are_words(words))
		return words;
	json_decref(words);
	return NULL;
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

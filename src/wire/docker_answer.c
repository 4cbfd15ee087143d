/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_answer.c - is it Docker that answers on a Unix socket?
 *
 * Not the strict parser of HTTP heads: what that one refuses may be Docker all
 * the same.
 */
#include "wire/docker_answer.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define PROTOCOL "HTTP/"

static bool begins(const char *line, size_t len, const char *text)
{
	return len >= strlen(text) &&
	       strncasecmp(line, text, strlen(text)) == 0;
}

static bool is_dockers(const char *line, size_t len)
{
	static const char *const names[] = {
		"Api-Version:",        "Docker-Experimental:",
		"Libpod-API-Version:", "Libpod-Buildah-Version:",
		"Buildkit-Version:",   "Builder-Version:"
	};
	static const char *const servers[] = { "Docker", "Libpod", "Podman" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (begins(line, len, names[i]))
			return true;
	}
	if (!begins(line, len, "Server:"))
		return false;
	line += strlen("Server:");
	len -= strlen("Server:");
	while (len && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		if (begins(line, len, servers[i]))
			return true;
	}
	return false;
}

enum docker_answer docker_answer_read(const void *bytes, size_t len)
{
	size_t head = len < strlen(PROTOCOL) ? len : strlen(PROTOCOL);
	const char *line = bytes, *end;

	if (head && strncasecmp(bytes, PROTOCOL, head) != 0)
		return DOCKER_ANSWER_OTHER;
	while (len && (end = memchr(line, '\n', len))) {
		size_t used = (size_t)(end - line);

		if (used == 0 || (used == 1 && line[0] == '\r'))
			return DOCKER_ANSWER_OTHER;
		if (is_dockers(line, used))
			return DOCKER_ANSWER_DOCKER;
		line += used + 1;
		len -= used + 1;
	}
	return (size_t)(line - (const char *)bytes) + len >= DOCKER_ANSWER_MAX
		       ? DOCKER_ANSWER_DOCKER
		       : DOCKER_ANSWER_MORE;
}

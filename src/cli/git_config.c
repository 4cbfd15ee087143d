/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_config.c - what a git config says, line by line
 */
#include "cli/git_config.h"

#include <string.h>

#include "base/own.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Letters, digits, `-` and `.` into dst, small; NUL when there are too many. */
static const char *take_name(const char *at, const char *end, char *dst,
			     size_t size)
{
	size_t len = 0;

	for (; at < end && *at; at++) {
		char c = *at >= 'A' && *at <= 'Z' ? (char)(*at | 0x20) : *at;

		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-.", c))
			break;
		if (len < size)
			dst[len++] = c;
	}
	dst[len < size ? len : 0] = '\0';
	return at;
}

/* `[section "any text"]`; what may follow it on its line is a setting. */
static const char *take_section(const char *at, const char *end,
				struct git_setting *setting)
{
	bool quoted = false;

	at = take_name(at + 1, end, setting->section, sizeof(setting->section));
	setting->section[strcspn(setting->section, ".")] = '\0';
	for (; at < end && (quoted || *at != ']'); at++) {
		if (quoted && *at == '\\' && at + 1 < end)
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	return at + (at < end);
}

/* Without its quotes and what is a comment; "" when it is too long. */
static void take_value(const char *at, const char *end, char *dst)
{
	bool quoted = false;
	size_t len = 0;

	for (; at < end && (quoted || !strchr("#;", *at)); at++) {
		if (*at == '"') {
			quoted = !quoted;
			continue;
		}
		if (*at == '\\' && at + 1 < end)
			at++;
		if (len < GIT_CONFIG_VALUE_MAX)
			dst[len++] = *at;
	}
	if (len == GIT_CONFIG_VALUE_MAX)
		len = 0;
	while (len && is_blank(dst[len - 1]))
		len--;
	dst[len] = '\0';
}

static bool take_line(const char *at, const char *end,
		      struct git_setting *setting)
{
	while (at < end && is_blank(*at))
		at++;
	if (at < end && *at == '[')
		at = take_section(at, end, setting);
	while (at < end && is_blank(*at))
		at++;
	at = take_name(at, end, setting->key, sizeof(setting->key));
	while (at < end && is_blank(*at))
		at++;
	if (!setting->key[0] || at == end || *at != '=')
		return false;
	for (at++; at < end && is_blank(*at);)
		at++;
	take_value(at, end, setting->value);
	return setting->value[0];
}

bool git_config_next(const char **at, const char *end,
		     struct git_setting *setting)
{
	while (*at < end) {
		const char *line = *at;
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = end;
		*at = stop + (stop < end);
		if (take_line(line, stop, setting))
			return true;
	}
	return false;
}

bool git_config_is_path(const struct git_setting *setting)
{
	if (!strcmp(setting->section, "include") ||
	    !strcmp(setting->section, "includeif"))
		return !strcmp(setting->key, "path");
	return !strcmp(setting->key, "hookspath") ||
	       !strcmp(setting->key, "attributesfile");
}

bool git_config_is_command(const struct git_setting *setting)
{
	static const char *const keys[] = {
		"askpass",    "clean",       "cmd",
		"command",    "driver",      "editor",
		"external",   "fsmonitor",   "gitproxy",
		"helper",     "pager",       "process",
		"program",    "receivepack", "smudge",
		"sshcommand", "textconv",    "uploadpack",
		"vcs",        "difffilter",  "alternaterefscommand",
	};

	if (!strcmp(setting->section, "alias") ||
	    !strcmp(setting->section, "pager"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(setting->key, keys[i]))
			return true;
	}
	return false;
}

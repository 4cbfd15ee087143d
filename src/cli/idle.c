/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.c - after how long a sandbox without work is suspended
 */
#include "cli/idle.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/text.h"

#define FILE_NAME "idle"

int idle_parse(const char *text, uint32_t *seconds, struct error *err)
{
	static const struct {
		char unit;
		unsigned seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 } };
	size_t len = strlen(text);
	unsigned factor = 1;
	char number[16];
	uint64_t value;

	for (size_t i = 0; len && i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[len - 1] == units[i].unit)
			factor = units[i].seconds;
	}
	if (len && (text[len - 1] < '0' || text[len - 1] > '9'))
		len--;
	if (len == 0 || len >= sizeof(number) ||
	    (text[len] && !strchr("smh", text[len])))
		return error_set(err, 0, "%s: a time is like 90s, 10m, 2h or 0",
				 text);
	memcpy(number, text, len);
	number[len] = '\0';
	if (text_to_u64(number, 0, IDLE_MAX_S / factor, &value) < 0)
		return error_set(err, 0, "%s: a time is like 90s, 10m, 2h or 0",
				 text);
	*seconds = (uint32_t)(value * factor);
	return 0;
}

int idle_save(int folder, uint32_t seconds, struct error *err)
{
	char text[16];

	text_format(text, sizeof(text), "%u", seconds);
	return fileio_replace(folder, FILE_NAME, text, strlen(text), 0600, 0,
			      err);
}

uint32_t idle_load(int folder)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(16);
	uint64_t seconds;

	if (fileio_read(folder, FILE_NAME, &text, NULL) < 0 ||
	    buffer_append(&text, "", 1) < 0 ||
	    text_to_u64((const char *)text.data, 0, IDLE_MAX_S, &seconds) < 0)
		return IDLE_DEFAULT_S;
	return (uint32_t)seconds;
}

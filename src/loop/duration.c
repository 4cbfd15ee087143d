/* SPDX-License-Identifier: Apache-2.0 */
/*
 * duration.c - "90", "90s", "5m", "1h30m", "2d"
 */
#include "loop/duration.h"

#include <ctype.h>

#include "base/text.h"

#define MINUTE 60u
#define HOUR 3600u
#define DAY 86400u

static uint64_t unit_of(char c)
{
	switch (c) {
	case 's':
		return 1;
	case 'm':
		return MINUTE;
	case 'h':
		return HOUR;
	case 'd':
		return DAY;
	default:
		return 0;
	}
}

int duration_parse(const char *text, uint64_t *seconds)
{
	uint64_t total = 0, last = DAY + 1;

	if (!*text)
		return -1;
	while (*text) {
		uint64_t value = 0, unit;

		if (!isdigit((unsigned char)*text))
			return -1;
		while (isdigit((unsigned char)*text)) {
			value = value * 10 + (uint64_t)(*text++ - '0');
			if (value > DURATION_MAX)
				return -1;
		}
		/* larger units first, each once; a bare number is seconds */
		unit = *text ? unit_of(*text) : 1;
		if (!unit || unit >= last)
			return -1;
		last = unit;
		total += value * unit;
		if (*text)
			text++;
		if (total > DURATION_MAX)
			return -1;
	}
	*seconds = total;
	return 0;
}

void duration_text(double seconds, char *out, size_t size)
{
	uint64_t whole = seconds > 0 && seconds < 1e12 ? (uint64_t)seconds : 0;

	if (whole >= HOUR)
		(void)text_format(out, size, "%lluh%02llum",
				  (unsigned long long)(whole / HOUR),
				  (unsigned long long)(whole % HOUR / MINUTE));
	else if (whole >= MINUTE)
		(void)text_format(out, size, "%llum%02llus",
				  (unsigned long long)(whole / MINUTE),
				  (unsigned long long)(whole % MINUTE));
	else
		(void)text_format(out, size, "%llus",
				  (unsigned long long)whole);
}

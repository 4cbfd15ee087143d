/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_cpu.c - what /proc/cpuinfo says
 */
#include "provision/host_cpu.h"

#include <fcntl.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

char *host_cpu_value(const char *text, const char *key)
{
	while (text && *text) {
		const char *end = strchrnul(text, '\n');
		const char *colon = memchr(text, ':', (size_t)(end - text));
		size_t len = strlen(key);

		if (colon && text_starts(text, key) &&
		    strspn(text + len, " \t") == (size_t)(colon - text) - len) {
			colon++;
			colon += strspn(colon, " ");
			return xstrndup(colon, (size_t)(end - colon));
		}
		text = *end ? end + 1 : NULL;
	}
	return NULL;
}

bool host_cpu_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t this = strcspn(text, " ");

		if (this == len && memcmp(text, word, len) == 0)
			return true;
		text += this;
	}
	return false;
}

static char *value(const char *key)
{
	/* The first CPU is enough; hundreds of them fill a megabyte. */
	AUTO_BUFFER struct buffer text = BUFFER_INIT(16 << 20);

	if (fileio_read(AT_FDCWD, "/proc/cpuinfo", &text, NULL) < 0 ||
	    !buffer_str(&text))
		return NULL;
	return host_cpu_value(buffer_str(&text), key);
}

char *host_cpu_model(void)
{
	char *model = value("model name");

	return model ? model : xstrdup("");
}

bool host_cpu_can_virtualise(void)
{
	AUTO_FREE char *flags = value("flags");

	return flags && (host_cpu_has_word(flags, "vmx") ||
			 host_cpu_has_word(flags, "svm"));
}

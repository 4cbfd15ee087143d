/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_cpu.c - what /proc/cpuinfo says
 */
#include "provision/host_cpu.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

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

#if defined(__x86_64__)
#define MEASURE_NS 4000000

static uint64_t now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The counter between two looks at the clock, and how far they were apart. */
static uint64_t look(uint64_t *clock_ns, uint64_t *spread)
{
	uint64_t before = __rdtsc(), after;

	*clock_ns = now_ns();
	after = __rdtsc();
	*spread = after - before;
	return before + (after - before) / 2;
}

/* Several looks: one that was interrupted is told by its spread. */
static uint64_t good_look(uint64_t *clock_ns)
{
	uint64_t best = UINT64_MAX, counter = 0;

	for (int i = 0; i < 8; i++) {
		uint64_t ns, spread, this = look(&ns, &spread);

		if (spread >= best)
			continue;
		best = spread;
		counter = this;
		*clock_ns = ns;
	}
	return counter;
}

static unsigned measure_khz(void)
{
	struct timespec pause = { .tv_nsec = MEASURE_NS };
	uint64_t begin_ns, end_ns;
	uint64_t begin = good_look(&begin_ns), end;

	nanosleep(&pause, NULL);
	end = good_look(&end_ns);
	if (end <= begin || end_ns <= begin_ns)
		return 0;
	return (unsigned)((end - begin) * 1000000 / (end_ns - begin_ns));
}

unsigned host_cpu_tsc_khz(void)
{
	static int known = -1;

	if (known < 0) {
		AUTO_FREE char *flags = value("flags");

		known = flags && host_cpu_has_word(flags, "constant_tsc") &&
					host_cpu_has_word(flags, "nonstop_tsc")
				? (int)measure_khz()
				: 0;
	}
	return (unsigned)known;
}
#else
unsigned host_cpu_tsc_khz(void)
{
	return 0;
}
#endif

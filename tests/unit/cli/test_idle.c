/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_idle.c - the time after which a sandbox is suspended
 */
#include "cli/idle.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

static long parse(const char *text)
{
	struct error err = { 0 };
	uint32_t seconds;

	if (idle_parse(text, &seconds, &err) == 0)
		return (long)seconds;
	return err.text[0] ? -1 : -2;
}

static void times_have_units(void)
{
	CHECK(parse("0") == 0 && parse("90") == 90 && parse("90s") == 90);
	CHECK(parse("10m") == 600 && parse("2h") == 7200);
}

static void others_are_refused(void)
{
	CHECK(parse("") == -1 && parse("m") == -1 && parse("-1") == -1);
	CHECK(parse("1d") == -1 && parse("1 m") == -1 && parse("1.5h") == -1);
	CHECK(parse("99999999h") == -1 && parse("10mm") == -1);
	CHECK(parse("123456789012345678") == -1);
}

static void it_is_kept_and_has_a_default(void)
{
	char place[] = "/tmp/bawn-idle-XXXXXX";
	struct error err = { 0 };
	int folder;

	CHECK(mkdtemp(place) != NULL);
	folder = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(idle_load(folder) == IDLE_DEFAULT_S);
	CHECK(idle_save(folder, 0, &err) == 0 && idle_load(folder) == 0);
	CHECK(idle_save(folder, 77, &err) == 0 && idle_load(folder) == 77);
	close(folder);
	fileio_remove_tree(AT_FDCWD, place, &err);
}

int main(void)
{
	RUN(times_have_units);
	RUN(others_are_refused);
	RUN(it_is_kept_and_has_a_default);
	return DONE();
}

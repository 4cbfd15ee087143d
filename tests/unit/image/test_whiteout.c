/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_whiteout.c - names by which a layer says what is gone
 */
#include "image/whiteout.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

static struct error err;

static void whiteouts_are_recognised(void)
{
	static const struct {
		const char *path;
		enum whiteout_kind kind;
		const char *gone;
	} rows[] = {
		{ "", WHITEOUT_NONE, "" },
		{ "a", WHITEOUT_NONE, "" },
		{ "a/b", WHITEOUT_NONE, "" },
		{ "a.wh.b", WHITEOUT_NONE, "" },
		{ ".wh", WHITEOUT_NONE, "" },
		{ ".wh.a/b", WHITEOUT_NONE, "" },
		{ ".wh.a", WHITEOUT_NAME, "a" },
		{ "x/y/.wh.a", WHITEOUT_NAME, "x/y/a" },
		{ "x/.wh..a", WHITEOUT_NAME, "x/.a" },
		{ "x/.wh....", WHITEOUT_NAME, "x/..." },
		{ ".wh..wh..opq", WHITEOUT_OPAQUE, "" },
		{ "x/.wh..wh..opq", WHITEOUT_OPAQUE, "" },
		{ "x/.wh..wh.aufs", WHITEOUT_IGNORED, "" },
		{ ".wh..wh.plnk/12.34", WHITEOUT_IGNORED, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum whiteout_kind kind;
		char gone[TAR_PATH_MAX];

		CHECK(whiteout_parse(rows[i].path, &kind, gone, &err) == 0);
		CHECK(kind == rows[i].kind);
		CHECK(strcmp(gone, rows[i].gone) == 0);
	}
}

static void whiteouts_of_nothing_are_refused(void)
{
	static const char *const rows[] = { ".wh.",    "a/.wh.", ".wh..",
					    "a/.wh..", ".wh...", "a/.wh..." };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum whiteout_kind kind;
		char gone[TAR_PATH_MAX];

		CHECK(whiteout_parse(rows[i], &kind, gone, &err) < 0);
	}
}

int main(void)
{
	RUN(whiteouts_are_recognised);
	RUN(whiteouts_of_nothing_are_refused);
	return DONE();
}

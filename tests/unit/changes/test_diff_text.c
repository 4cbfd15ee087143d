/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_diff_text.c - changes as git prints them
 */
#include "changes/diff_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "lib/tap.h"

static char top[] = "/tmp/diff-text-XXXXXX";
static struct error err;

/* The diff of a file "f" that had one content and gets another. */
static char *print(enum change_kind kind, const char *old_text, size_t old_len,
		   const char *new_text, size_t new_len, bool terminal)
{
	AUTO_CLOSE int root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int set = memfd_create("set", MFD_CLOEXEC);
	struct diff_source source = { root, set, "", terminal };
	struct set_entry entry = { .path = (char *)"f",
				   .mode = S_IFREG | 0755,
				   .size = new_len,
				   .offset = 3 };
	struct change change = { .kind = kind,
				 .path = (char *)"f",
				 .entry = kind == CHANGE_DELETED ? NULL
								 : &entry };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fileio_replace(root, "f", old_text, old_len, 0755, 0, &err);
	fstatat(root, "f", &change.host, 0);
	CHECK(write(set, "---", 3) == 3);
	CHECK(write(set, new_text, new_len) == (ssize_t)new_len);
	CHECK(diff_text_print(&source, &change, out, NULL, &err) == 0);
	fclose(out);
	return text;
}

#define PRINT(kind, a, b, terminal) \
	print(kind, a, sizeof(a) - 1, b, sizeof(b) - 1, terminal)

static void changed_lines_stand_in_hunks(void)
{
	AUTO_FREE char *text = PRINT(
		CHANGE_MODIFIED, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
		"1\nx\n3\n4\n5\n6\n7\n8\n9\n10\n11\ny", false);

	CHECK(!strcmp(text, "diff --git a/f b/f\n"
			    "--- a/f\n"
			    "+++ b/f\n"
			    "@@ -1,5 +1,5 @@\n"
			    " 1\n-2\n+x\n 3\n 4\n 5\n"
			    "@@ -9,4 +9,4 @@\n"
			    " 9\n 10\n 11\n-12\n+y\n"
			    "\\ No newline at end of file\n"));
}

static void new_and_deleted_files_name_dev_null(void)
{
	AUTO_FREE char *made = PRINT(CHANGE_NEW, "", "x\n", false);
	AUTO_FREE char *gone = PRINT(CHANGE_DELETED, "x\n", "", false);

	CHECK(!strcmp(made, "diff --git a/f b/f\n"
			    "new file mode 100755\n"
			    "--- /dev/null\n"
			    "+++ b/f\n"
			    "@@ -0,0 +1 @@\n+x\n"));
	CHECK(!strcmp(gone, "diff --git a/f b/f\n"
			    "deleted file mode 100755\n"
			    "--- a/f\n"
			    "+++ /dev/null\n"
			    "@@ -1 +0,0 @@\n-x\n"));
}

static void binary_files_are_not_printed(void)
{
	AUTO_FREE char *text = PRINT(CHANGE_MODIFIED, "a\0b", "c\0d", false);

	CHECK(!strcmp(text, "diff --git a/f b/f\n"
			    "Binary files a/f and b/f differ\n"));
}

static void content_does_not_move_the_cursor_of_a_terminal(void)
{
	AUTO_FREE char *safe =
		PRINT(CHANGE_MODIFIED, "", "\x1b[2J\tx\xc2\x9bz\x07\n", true);
	AUTO_FREE char *raw = PRINT(CHANGE_MODIFIED, "", "\x1b[2J\tx\n", false);

	CHECK(!strchr(safe, '\x1b') && !strchr(safe, '\x07') &&
	      !strstr(safe, "\xc2\x9b"));
	CHECK(strstr(safe, "\\x1b[2J\tx"));
	CHECK(strchr(raw, '\x1b'));
}

static void what_git_does_not_know_is_a_note_alone(void)
{
	AUTO_FREE char *mode = PRINT(CHANGE_MODE, "x\n", "x\n", false);
	AUTO_FREE char *attributes =
		PRINT(CHANGE_ATTRIBUTES, "a\0b", "a\0b", false);

	CHECK(!*mode && !*attributes);
}

static void attributes_and_further_names_are_told(void)
{
	AUTO_CLOSE int root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct diff_source source = { root, -1, "p/", true };
	struct tar_xattr items[] = { { "user.a", "\x1b[2J", 4 },
				     { "user.b\n", "1\0", 2 } };
	struct set_entry entry = { .path = (char *)"f",
				   .mode = S_IFDIR | 0755,
				   .attributes = { items, 2 } };
	struct change change = { .kind = CHANGE_NEW,
				 .path = (char *)"f",
				 .entry = &entry,
				 .linked = "other" };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(diff_text_print(&source, &change, out, NULL, &err) == 0);
	fclose(out);
	CHECK(!strcmp(text,
		      "# attribute user.a of p/f: \"\\033[2J\", was none\n"
		      "# attribute \"user.b\\n\" of p/f: 2 bytes, was none\n"
		      "# one file: p/f and p/other\n"
		      "# new folder p/f\n"));
	free(text);
}

static void names_are_quoted_as_git_does(void)
{
	AUTO_FREE char *plain = diff_text_quote("a/", "b c");
	AUTO_FREE char *odd = diff_text_quote("a/", "\x1b\"\\\n\xc3\xa4");

	CHECK(!strcmp(plain, "a/b c"));
	CHECK(!strcmp(odd, "\"a/\\033\\\"\\\\\\n\\303\\244\""));
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	RUN(changed_lines_stand_in_hunks);
	RUN(new_and_deleted_files_name_dev_null);
	RUN(binary_files_are_not_printed);
	RUN(content_does_not_move_the_cursor_of_a_terminal);
	RUN(what_git_does_not_know_is_a_note_alone);
	RUN(attributes_and_further_names_are_told);
	RUN(names_are_quoted_as_git_does);
	fileio_remove_tree(AT_FDCWD, top, &err);
	return DONE();
}

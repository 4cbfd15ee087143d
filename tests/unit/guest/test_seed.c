/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_seed.c - files that an agent finds in its home
 */
#include "guest/seed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"
#include "tar/tar_read.h"
#include "tar/tar_write.h"

static char home_path[] = "/tmp/bawn-seed-XXXXXX";
static int home;
static struct buffer archive;

static void begin(void)
{
	buffer_release(&archive);
	buffer_init(&archive, 4u << 20);
}

static void add(const char *path, const char *text, mode_t type)
{
	struct tar_entry entry = { .path = path,
				   .mode = type | 0600,
				   .size = strlen(text),
				   .target = S_ISLNK(type) ? "/etc" : NULL };
	static const char zeroes[TAR_BLOCK];

	CHECK(tar_write_entry(&entry, &archive) == 0);
	CHECK(buffer_append(&archive, text, strlen(text)) == 0);
	CHECK(buffer_append(&archive, zeroes, tar_padding(strlen(text))) == 0);
}

/* What was told, "path=content;" for each. */
static char told[512];

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%s=", entry->path);
	return 0;
}

static int on_data(void *ctx, const void *bytes, size_t n, struct error *err)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%.*s", (int)n,
		 (const char *)bytes);
	return 0;
}

static int on_end(void *ctx, struct error *err)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, ";");
	return 0;
}

static int serve(enum seed_mode mode, size_t len)
{
	const struct tar_limits limits = { 64, 4u << 20 };
	const struct tar_events events = { on_entry, on_data, on_end, NULL };
	AUTO_CLOSE int in = memfd_create("in", MFD_CLOEXEC);
	AUTO_CLOSE int out = memfd_create("out", MFD_CLOEXEC);
	AUTO_BUFFER struct buffer answer = BUFFER_INIT(4u << 20);
	struct tar_reader *reader = tar_reader_new(&limits, &events);
	int result;

	told[0] = '\0';
	CHECK(fileio_pwrite_all(in, archive.data, len, 0, NULL) == 0);
	result = seed_serve(home, mode, in, out, NULL);
	lseek(out, 0, SEEK_SET);
	CHECK(fileio_read_fd(out, &answer, NULL) == 0);
	if (result == 0)
		CHECK(tar_reader_feed(reader, answer.data, answer.len, NULL) ==
			      0 &&
		      tar_reader_finish(reader, NULL) == 0);
	tar_reader_free(reader);
	return result;
}

static int run(enum seed_mode mode)
{
	CHECK(tar_write_end(&archive) == 0);
	return serve(mode, archive.len);
}

static bool holds(const char *path, const char *text)
{
	AUTO_BUFFER struct buffer content = BUFFER_INIT(1u << 20);

	return fileio_read(home, path, &content, NULL) == 0 &&
	       buffer_str(&content) && !strcmp(buffer_str(&content), text);
}

static void new_files_are_made_and_old_ones_told(void)
{
	begin();
	add("a", "one", S_IFREG);
	add("d/e/f", "two", S_IFREG);
	CHECK(run(SEED_NEW) == 0 && !told[0]);
	CHECK(holds("a", "one") && holds("d/e/f", "two"));
	begin();
	add("a", "other", S_IFREG);
	add("b", "three", S_IFREG);
	CHECK(run(SEED_NEW) == 0 && !strcmp(told, "a=one;"));
	CHECK(holds("a", "one") && holds("b", "three"));
}

static void a_replacement_takes_its_place(void)
{
	begin();
	add("a", "new", S_IFREG);
	CHECK(run(SEED_REPLACE) == 0 && !told[0] && holds("a", "new"));
}

static void planted_links_are_left_alone(void)
{
	CHECK(symlinkat("/etc", home, "out") == 0);
	CHECK(symlinkat("target", home, "link") == 0);
	CHECK(mkdirat(home, "folder", 0700) == 0);
	CHECK(mkfifoat(home, "fifo", 0600) == 0);
	for (int mode = SEED_NEW; mode <= SEED_REPLACE; mode++) {
		begin();
		add("out/bawn-test-seed", "x", S_IFREG);
		add("link", "x", S_IFREG);
		add("folder", "x", S_IFREG);
		add("fifo", "x", S_IFREG);
		CHECK(run(mode) == 0 && !told[0]);
		CHECK(access("/etc/bawn-test-seed", F_OK) < 0);
		CHECK(faccessat(home, "target", F_OK, 0) < 0);
	}
}

static void only_files_come_in(void)
{
	begin();
	add("l", "", S_IFLNK);
	CHECK(run(SEED_NEW) < 0);
	begin();
	for (int i = 0; i <= SEED_FILES_MAX; i++)
		add("a", "", S_IFREG);
	CHECK(run(SEED_NEW) < 0);
}

static void an_archive_cut_anywhere_is_refused(void)
{
	begin();
	add("cut", "text", S_IFREG);
	CHECK(tar_write_end(&archive) == 0);
	for (size_t len = 0; len < 2 * TAR_BLOCK; len += 31)
		CHECK(serve(SEED_REPLACE, len) < 0);
}

int main(void)
{
	CHECK(mkdtemp(home_path) != NULL);
	home = open(home_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	RUN(new_files_are_made_and_old_ones_told);
	RUN(a_replacement_takes_its_place);
	RUN(planted_links_are_left_alone);
	RUN(only_files_come_in);
	RUN(an_archive_cut_anywhere_is_refused);
	buffer_release(&archive);
	CHECK(fileio_remove_tree(AT_FDCWD, home_path, NULL) == 0);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_snapshot.c - a snapshot's manifest, and its files compared with it
 */
#include "state/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

#define FACTS "QEMU: 2\nCPUs: 4\nbawn: 1, machine 1\n"

static int folder = -1;
static char place[] = "/tmp/bawn-snapshot-XXXXXX";

static struct snapshot example(void)
{
	struct snapshot snapshot = {
		.key = KEY,
		.facts = "QEMU: 1\nCPUs: 4\n",
		.marker = OTHER,
		.accel = "tcg",
		.machine = "pc-q35-7.2",
		.cpu = "max",
		.cpus = 2,
		.memory_mib = 1,
		.quiet = true,
		.created = 1000,
		.next_session = 9,
	};

	snapshot.sessions = json_pack("[{s:i}]", "session", 3);
	return snapshot;
}

static void a_manifest_is_read_as_it_was_written(void)
{
	struct snapshot snapshot = example(), again;
	AUTO_FREE char *text = snapshot_encode(&snapshot);
	struct error err = { 0 };

	CHECK(text && snapshot_parse(text, strlen(text), &again, &err) == 0);
	CHECK(!strcmp(again.key, KEY) && !strcmp(again.marker, OTHER));
	CHECK(!strcmp(again.facts, snapshot.facts));
	CHECK(again.cpus == 2 && again.memory_mib == 1 && again.quiet);
	CHECK(again.created == 1000 && again.next_session == 9);
	CHECK(json_equal(again.sessions, snapshot.sessions));
	snapshot_release(&again);
	snapshot_release(&snapshot);
}

static void a_cut_manifest_is_damaged(void)
{
	struct snapshot snapshot = example(), again;
	AUTO_FREE char *text = snapshot_encode(&snapshot);
	struct error err = { 0 };
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		err.code = 0;
		CHECK(snapshot_parse(text, i, &again, &err) == -1);
		CHECK(err.code == EBADMSG);
	}
	snapshot_release(&snapshot);
}

/* Parses the example with one key changed. */
static int parse_with(const char *key, json_t *value)
{
	struct snapshot snapshot = example(), again;
	AUTO_FREE char *text = snapshot_encode(&snapshot);
	AUTO_FREE char *changed = NULL;
	json_t *root = json_loads(text, 0, NULL);
	struct error err = { 0 };
	int result;

	if (value)
		json_object_set_new(root, key, value);
	else
		json_object_del(root, key);
	changed = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	result = snapshot_parse(changed, strlen(changed), &again, &err);
	if (result == 0)
		snapshot_release(&again);
	snapshot_release(&snapshot);
	return result;
}

static void wrong_values_are_refused(void)
{
	CHECK(parse_with("cpus", json_integer(3)) == 0);
	CHECK(parse_with("version", json_integer(2)) == -1);
	CHECK(parse_with("version", json_true()) == -1);
	CHECK(parse_with("facts", NULL) == 0);
	CHECK(parse_with("facts", json_true()) == -1);
	CHECK(parse_with("extra", json_true()) == -1);
	CHECK(parse_with("key", NULL) == -1);
	CHECK(parse_with("key", json_string("0")) == -1);
	CHECK(parse_with("marker", json_string(KEY "0")) == -1);
	CHECK(parse_with("memory_mib", json_integer(0)) == -1);
	CHECK(parse_with("memory_mib", json_integer(1 << 25)) == -1);
	CHECK(parse_with("next_session", json_integer(0)) == -1);
	CHECK(parse_with("sessions", json_pack("[i]", 3)) == -1);
	CHECK(parse_with("ram", json_object()) == -1);
}

static const char *differs(const char *kept, const char *here)
{
	static char text[400];

	return snapshot_difference(kept, here, text, sizeof(text)) < 0 ? NULL
								       : text;
}

static void a_difference_is_named(void)
{
	char kept[] = "QEMU: 1\nCPU: a\nno fact\nbawn: 1", again[sizeof(kept)];

	CHECK(!differs(kept, kept) && !differs("", kept) && !differs(kept, ""));
	CHECK(!strcmp(differs(kept, "QEMU: 2\nCPU: b\n"),
		      "another QEMU (kept: 1, here: 2)"));
	CHECK(!strcmp(differs(kept, "new: 1\nQEMU: 1\nbawn: 2"),
		      "another bawn (kept: 1, here: 2)"));
	CHECK(!strcmp(differs("QEMU: \033[1m", "QEMU: 2"),
		      "another QEMU (kept: \\x1b[1m, here: 2)"));
	for (size_t i = 0; i < sizeof(kept); i++) {
		memcpy(again, kept, i);
		again[i] = '\0';
		differs(again, kept);
		CHECK(!differs(again, again));
	}
}

static void another_format_is_foreign(void)
{
	static const char text[] = "{\"version\": 7, \"more\": []}";
	struct snapshot snapshot;
	struct error err = { 0 };

	CHECK(snapshot_parse(text, strlen(text), &snapshot, &err) == -1);
	CHECK(err.code == ESTALE);
	CHECK(strstr(err.text, "another format (kept: 7, here: 1)"));
}

static int make(const char *name, off_t size)
{
	int fd = openat(folder, name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && ftruncate(fd, size) == 0);
	CHECK(pwrite(fd, name, strlen(name), size / 2) > 0);
	return fd;
}

static void write_snapshot(void)
{
	struct snapshot snapshot = example();
	AUTO_CLOSE int ram = make(SNAPSHOT_RAM, 1 << 20);
	AUTO_CLOSE int state = make(SNAPSHOT_STATE, 5000);
	AUTO_FREE char *text = NULL;
	struct error err = { 0 };

	CHECK(snapshot_note(ram, &snapshot.ram, &err) == 0);
	CHECK(snapshot_note(state, &snapshot.state, &err) == 0);
	CHECK(snapshot_sum(ram, snapshot.ram.sum, &err) == 0);
	CHECK(snapshot_sum(state, snapshot.state.sum, &err) == 0);
	text = snapshot_encode(&snapshot);
	CHECK(fileio_replace(folder, SNAPSHOT_FILE, text, strlen(text), 0600, 0,
			     &err) == 0);
	snapshot_release(&snapshot);
}

static int load(const char *key)
{
	struct snapshot snapshot;
	struct error err = { 0 };

	if (snapshot_load(folder, key, FACTS, &snapshot, &err) < 0)
		return err.code;
	snapshot_release(&snapshot);
	return 0;
}

static void poke(const char *name, off_t at)
{
	AUTO_CLOSE int fd = openat(folder, name, O_WRONLY);

	CHECK(fd >= 0 && pwrite(fd, "#", 1, at) == 1);
}

static void whole_ones_load_and_others_say_why(void)
{
	struct timespec old[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };

	CHECK(load(KEY) == ENOENT);
	write_snapshot();
	CHECK(load(KEY) == 0);
	CHECK(load(OTHER) == ESTALE);
	/* another time alone: what is in it decides */
	CHECK(utimensat(folder, SNAPSHOT_RAM, old, 0) == 0);
	CHECK(load(KEY) == 0);
	poke(SNAPSHOT_RAM, 4096 * 3 + 17);
	CHECK(load(KEY) == EBADMSG);
	write_snapshot();
	poke(SNAPSHOT_STATE, 100);
	CHECK(load(KEY) == EBADMSG);
	write_snapshot();
	CHECK(unlinkat(folder, SNAPSHOT_RAM, 0) == 0);
	CHECK(load(KEY) == EBADMSG);
	write_snapshot();
	CHECK(unlinkat(folder, SNAPSHOT_FILE, 0) == 0);
	CHECK(load(KEY) == ENOENT);
}

static void a_checkpoint_is_completed_by_its_taker(void)
{
	AUTO_CLOSE int disk = make(SNAPSHOT_DISK, 9000);
	struct snapshot snapshot = example();
	AUTO_CLOSE int ram = make(SNAPSHOT_RAM, 1 << 20);
	AUTO_CLOSE int state = make(SNAPSHOT_STATE, 5000);
	AUTO_FREE char *text = snapshot_encode(&snapshot);
	struct error err = { 0 };

	snapshot_release(&snapshot);
	CHECK(fileio_replace(folder, SNAPSHOT_FILE, text, strlen(text), 0600, 0,
			     &err) == 0);
	CHECK(load(KEY) == EBADMSG);
	CHECK(snapshot_complete(folder, &err) == 0);
	CHECK(load(KEY) == 0);
	poke(SNAPSHOT_RAM, 5);
	CHECK(load(KEY) == EBADMSG);
}

static void a_sum_knows_places_and_not_holes(void)
{
	static unsigned char page[SNAPSHOT_PAGE], swapped[SNAPSHOT_PAGE];

	CHECK(snapshot_page_sum(page, 0) == 0);
	CHECK(snapshot_page_sum(page, 77) == 0);
	page[100] = 1;
	swapped[101] = 1;
	CHECK(snapshot_page_sum(page, 0) != snapshot_page_sum(page, 1));
	CHECK(snapshot_page_sum(page, 0) != snapshot_page_sum(swapped, 0));
}

int main(void)
{
	struct error err;

	if (!mkdtemp(place) ||
	    (folder = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 1;
	RUN(a_manifest_is_read_as_it_was_written);
	RUN(a_cut_manifest_is_damaged);
	RUN(wrong_values_are_refused);
	RUN(a_difference_is_named);
	RUN(another_format_is_foreign);
	RUN(whole_ones_load_and_others_say_why);
	RUN(a_checkpoint_is_completed_by_its_taker);
	RUN(a_sum_knows_places_and_not_holes);
	close(folder);
	fileio_remove_tree(AT_FDCWD, place, &err);
	return DONE();
}

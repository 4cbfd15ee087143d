/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sandbox_record.c - records, states and names
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"
#include "state/digest.h"
#include "state/sandbox_record.h"

static char scratch[] = "/tmp/bawn-test-record-XXXXXX";
static int machine;
static int folder;

static void put(const char *name, const char *text)
{
	CHECK(fileio_replace(folder, name, text, strlen(text), 0600, 0, NULL) ==
	      0);
}

static void a_record_survives_the_round_trip(void)
{
	struct share_record shares[] = {
		{ "/home/u/a b", "/home/u/a b", false, false },
		{ "/home/u/\"q\"", "/q", true, false },
		{ "/home/u/日本", "/home/u/日本", false, true },
	};
	char *hide[] = { "*.key", "!x", NULL };
	struct sandbox_record in = {
		.name = "shell-x",
		.id = "0123456789abcdef0123456789abcdef",
		.agent = "shell",
		.shares = { shares, ARRAY_SIZE(shares) },
		.mode = "overlay",
		.hide = hide,
		.quota_bytes = 1ULL << 40,
		.quota_inodes = 7,
		.ports = { { { "127.0.0.1", 8080, 3000 }, { "::1", 1, 65535 } },
			   2 },
		.sockets = { { { "/run/user/1/a", "/run/a" } }, 1 },
		.ask = true,
		.template_name = "base",
		.template_id = "sha256:1",
		.warm_key = "w",
		.accel = "auto",
		.isolation = "microvm",
		.cpus = 2,
		.memory_mib = 4096,
		.disk_bytes = 100000000000,
		.uid = 1879048192u + 7,
		.remove_at_end = true,
		.created = 1700000000,
		.last_used = 1700000001,
	};
	struct sandbox_record out;
	struct error err = { 0 };

	REQUIRE(sandbox_record_save(folder, &in, &err) == 0);
	REQUIRE(sandbox_record_load(folder, &out, &err) == 0);
	CHECK(!strcmp(out.name, in.name) && !strcmp(out.id, in.id));
	REQUIRE(out.shares.count == ARRAY_SIZE(shares));
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		CHECK(!strcmp(out.shares.items[i].host, shares[i].host));
		CHECK(!strcmp(out.shares.items[i].guest, shares[i].guest));
		CHECK(out.shares.items[i].read_only == shares[i].read_only);
		CHECK(out.shares.items[i].added == shares[i].added);
	}
	CHECK(!strcmp(out.mode, "overlay") && !strcmp(out.hide[1], "!x"));
	CHECK(!out.hide[2] && out.quota_bytes == in.quota_bytes);
	CHECK(out.quota_inodes == 7);
	REQUIRE(out.ports.count == 2 && out.sockets.count == 1 && out.ask);
	for (size_t i = 0; i < 2; i++)
		CHECK(port_record_same(&out.ports.items[i],
				       &in.ports.items[i]));
	CHECK(!strcmp(out.sockets.items[0].host, "/run/user/1/a"));
	CHECK(!strcmp(out.sockets.items[0].guest, "/run/a"));
	CHECK(!strcmp(out.warm_key, "w"));
	CHECK(!out.kernel_key && !out.accel_used);
	CHECK(out.cpus == 2 && out.memory_mib == 4096);
	CHECK(out.disk_bytes == in.disk_bytes && out.uid == in.uid);
	CHECK(out.remove_at_end);
	CHECK(out.created == in.created && out.last_used == in.last_used);
	sandbox_record_release(&out);
}

static void a_record_of_version_2_is_taken_and_has_no_network(void)
{
	static const char old[] =
		"{\"version\":2,\"name\":\"shell-x\",\"id\":\"0\",\"agent\":"
		"\"shell\",\"mode\":\"direct\",\"cloned\":false,"
		"\"with_changes\":false,\"quota_bytes\":0,\"quota_inodes\":0,"
		"\"template_name\":\"base\",\"template_id\":\"x\",\"accel\":"
		"\"auto\",\"isolation\":\"microvm\",\"cpus\":1,"
		"\"memory_mib\":512,\"disk_bytes\":1,\"uid\":0,"
		"\"remove_at_end\":false,\"created\":1,\"last_used\":1,"
		"\"shares\":[],\"hide\":[]}";
	struct sandbox_record record;
	struct error err = { 0 };

	put("sandbox.json", old);
	REQUIRE(sandbox_record_load(folder, &record, &err) == 0);
	CHECK(!record.ports.count && !record.sockets.count && !record.ask);
	/* Saved again it is of this version, and loads. */
	REQUIRE(sandbox_record_save(folder, &record, &err) == 0);
	sandbox_record_release(&record);
	REQUIRE(sandbox_record_load(folder, &record, &err) == 0);
	CHECK(!strcmp(record.name, "shell-x"));
	sandbox_record_release(&record);
}

static void damaged_records_are_errors_without_leaks(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{",
		"{\"version\":1}",
		"{\"version\":2}",
		"{\"version\":2,\"shares\":[1]}",
		"{\"version\":2,\"shares\":[],\"hide\":[1]}",
		"{\"version\":2,\"shares\":[],\"hide\":[],\"name\":7}",
		"{\"version\":2,\"shares\":[{\"host\":\"a\",\"guest\":\"/a\","
		"\"read_only\":true,\"added\":false}],\"hide\":[]}",
		"{\"version\":4}",
		"{\"version\":3,\"shares\":[],\"hide\":[]}",
		"{\"version\":3,\"shares\":[],\"hide\":[],\"ports\":[],"
		"\"sockets\":[{\"host\":\"/a\",\"guest\":\"b\"}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct sandbox_record record;
		struct error err = { 0 };

		put("sandbox.json", bad[i]);
		CHECK(sandbox_record_load(folder, &record, &err) < 0);
		CHECK(err.text[0]);
	}
}

static void a_sandbox_without_state_is_stopped(void)
{
	struct sandbox_state state;

	unlinkat(folder, "machine/state.json", 0);
	CHECK(sandbox_state_load(folder, &state, NULL) == 0);
	CHECK(state.status == SANDBOX_STATUS_STOPPED);
}

static void a_state_survives_the_round_trip_while_its_writer_lives(void)
{
	struct sandbox_state in = { .status = SANDBOX_STATUS_PAUSED,
				    .accel = "tcg",
				    .reason = "disk full",
				    .supervisor_pid = 10,
				    .qemu_pid = 11,
				    .since = 5 };
	struct sandbox_state out;
	AUTO_CLOSE int lock =
		fileio_lock(folder, "machine/alive", FILEIO_LOCK_TRY, NULL);

	REQUIRE(lock >= 0);
	REQUIRE(sandbox_state_save(machine, &in, NULL) == 0);
	REQUIRE(sandbox_state_load(folder, &out, NULL) == 0);
	CHECK(out.status == SANDBOX_STATUS_PAUSED);
	CHECK(!strcmp(out.accel, "tcg") && !strcmp(out.reason, "disk full"));
	CHECK(out.supervisor_pid == 10 && out.qemu_pid == 11);
	CHECK(out.since == 5);
}

static void a_running_state_without_supervisor_is_failed(void)
{
	struct sandbox_state out;

	put("machine/state.json", "{\"status\":\"running\",\"qemu_pid\":11}");
	REQUIRE(sandbox_state_load(folder, &out, NULL) == 0);
	CHECK(out.status == SANDBOX_STATUS_FAILED);
	CHECK(out.reason[0] && out.qemu_pid == 0);
}

static void a_reason_is_shown_without_control_characters(void)
{
	struct sandbox_state out;

	put("machine/state.json",
	    "{\"status\":\"failed\",\"reason\":\"a\\u001b[31mb\"}");
	REQUIRE(sandbox_state_load(folder, &out, NULL) == 0);
	CHECK(!strchr(out.reason, '\033'));
}

static void names_follow_the_rules(void)
{
	static const char *const good[] = { "ab", "a.b-c", "0x", "shell-x" };
	static const char *const bad[] = { "",    "a",   "-ab", ".ab",
					   "ab-", "ab.", "a/b", "a_b",
					   "a b", "é1",  "..",  "a\nb" };
	char longest[SANDBOX_NAME_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(sandbox_name_check(good[i], NULL) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(sandbox_name_check(bad[i], NULL) < 0);
	memset(longest, 'a', sizeof(longest));
	longest[SANDBOX_NAME_MAX] = '\0';
	CHECK(sandbox_name_check(longest, NULL) == 0);
	longest[SANDBOX_NAME_MAX] = 'a';
	longest[SANDBOX_NAME_MAX + 1] = '\0';
	CHECK(sandbox_name_check(longest, NULL) < 0);
}

static int named(const char *path, bool with_hash, const char *expected)
{
	AUTO_FREE char *name = sandbox_name_for("shell", path, with_hash);
	struct error err = { 0 };

	if (sandbox_name_check(name, &err) < 0 || strcmp(name, expected))
		printf("# %s -> %s %s\n", path, name, err.text);
	return sandbox_name_check(name, &err) == 0 && !strcmp(name, expected);
}

static void names_are_made_from_folders(void)
{
	char hex[DIGEST_HEX], expected[80];

	CHECK(named("/home/u/my app", false, "shell-my-app"));
	CHECK(named("/home/u/x_y/", false, "shell-x-y"));
	CHECK(named("/", false, "shell-root"));
	CHECK(named("/a/caf\xc3\xa9", false, "shell-caf"));
	digest_bytes("/a/b", 4, hex);
	snprintf(expected, sizeof(expected), "shell-b-%.8s", hex);
	CHECK(named("/a/b", true, expected));
	digest_bytes("/a/\xe6\x97\xa5", 6, hex);
	snprintf(expected, sizeof(expected), "shell-%.8s", hex);
	CHECK(named("/a/\xe6\x97\xa5", false, expected));
}

static void a_long_folder_name_is_cut_and_the_hash_kept(void)
{
	char path[300] = "/";
	AUTO_FREE char *plain = NULL;
	AUTO_FREE char *hashed = NULL;

	memset(path + 1, 'f', sizeof(path) - 2);
	plain = sandbox_name_for("shell", path, false);
	hashed = sandbox_name_for("shell", path, true);
	CHECK(strlen(plain) == SANDBOX_NAME_MAX);
	CHECK(strlen(hashed) == SANDBOX_NAME_MAX);
	CHECK(hashed[SANDBOX_NAME_MAX - 9] == '-');
	CHECK(sandbox_name_check(plain, NULL) == 0);
	CHECK(sandbox_name_check(hashed, NULL) == 0);
}

int main(void)
{
	if (!mkdtemp(scratch))
		return 1;
	folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mkdirat(folder, "machine", 0700);
	machine = openat(folder, "machine", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RUN(a_record_survives_the_round_trip);
	RUN(a_record_of_version_2_is_taken_and_has_no_network);
	RUN(damaged_records_are_errors_without_leaks);
	RUN(a_sandbox_without_state_is_stopped);
	RUN(a_state_survives_the_round_trip_while_its_writer_lives);
	RUN(a_running_state_without_supervisor_is_failed);
	RUN(a_reason_is_shown_without_control_characters);
	RUN(names_follow_the_rules);
	RUN(names_are_made_from_folders);
	RUN(a_long_folder_name_is_cut_and_the_hash_kept);
	close(folder);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}

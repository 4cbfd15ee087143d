/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_qemu_argv.c - the machine that QEMU is told to build
 */
#include "supervisor/qemu.h"

#include <string.h>

#include "base/buffer.h"
#include "lib/tap.h"
#include "state/digest.h"

static struct start_spec spec(enum start_goal goal)
{
	return (struct start_spec){
		.goal = goal,
		.accel = START_ACCEL_TCG,
		.name = "name",
		.qemu = "/usr/bin/qemu",
		.disks = { "/secret/top", "/secret/warm", "/secret/template" },
		.disk_count = 3,
		.cpus = 2,
		.memory_mib = 512,
		.machine = "pc-q35-7.2",
		.cpu = "max",
		.append = "quiet",
	};
}

static char *join(const struct start_spec *s)
{
	static char text[16384];
	char **argv = qemu_argv(s);
	size_t len = 0;

	for (size_t i = 0; argv[i]; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ",
					argv[i]);
	qemu_argv_free(argv);
	return text;
}

static char *joined(enum start_goal goal)
{
	struct start_spec s = spec(goal);

	return join(&s);
}

static void no_path_of_a_sandbox_is_among_the_arguments(void)
{
	for (int goal = 0; goal < START_GOALS; goal++)
		CHECK(!strstr(joined(goal), "secret"));
}

static void every_image_has_its_format_named(void)
{
	const char *text = joined(START_RESTORE);

	CHECK(strstr(text, "driver=raw,node-name=disk2,file=file2,"
			   "read-only=on"));
	CHECK(strstr(text, "driver=qcow2,node-name=disk1,file=file1,"
			   "read-only=on"));
	CHECK(strstr(text, "driver=qcow2,node-name=disk0,file=file0,"
			   "read-only=off"));
	CHECK(strstr(text, "discard=unmap,backing=disk1"));
	CHECK(!strstr(text, "-drive"));
}

/* Its writer hears of a full host disk; the root's machine would stand. */
static void a_spool_is_a_disk_of_its_own(void)
{
	struct start_spec s = spec(START_COLD);
	const char *text;

	CHECK(!strstr(join(&s), "spool"));
	s.spool = "/secret/spool";
	text = join(&s);
	CHECK(strstr(text, "driver=raw,node-name=spool,"));
	CHECK(strstr(text, "drive=spool,addr=07.0,serial=bawn.spool,"
			   "werror=report"));
	CHECK(!strstr(text, "secret"));
}

static void only_a_new_warm_image_shares_its_memory(void)
{
	CHECK(strstr(joined(START_MAKE_WARM), "share=on"));
	CHECK(strstr(joined(START_RESTORE), "share=off"));
	CHECK(strstr(joined(START_COLD), "share=off"));
	CHECK(strstr(joined(START_COLD), "mem-path"));
}

static void a_restore_has_no_kernel_and_waits_for_its_state(void)
{
	CHECK(strstr(joined(START_RESTORE), "-incoming defer"));
	CHECK(!strstr(joined(START_RESTORE), "-kernel"));
	CHECK(strstr(joined(START_COLD), "-kernel /bawn/kernel"));
	CHECK(!strstr(joined(START_COLD), "-incoming"));
}

static void what_must_never_be_missing_is_there(void)
{
	static const char *const words[] = {
		"-nodefaults",
		"-no-user-config",
		"-no-reboot",
		"-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,"
		"resourcecontrol=deny",
		"mem-merge=off",
		"dump-guest-core=off",
		"vmport=off",
		"werror=enospc",
	};

	for (int goal = 0; goal < START_GOALS; goal++) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			CHECK(strstr(joined(goal), words[i]));
	}
	CHECK(!strstr(joined(START_COLD), "balloon"));
	CHECK(!strstr(joined(START_COLD), "netdev"));
	CHECK(!strstr(joined(START_COLD), "-net"));
	CHECK(!strstr(joined(START_COLD), "-nic"));
}

/*
 * When this fails, a state of before does not fit the machine any more: raise
 * START_MACHINE_VERSION and put the new digest here.
 */
static void another_machine_has_another_version(void)
{
	const char *text = joined(START_RESTORE);
	char hex[DIGEST_HEX];

	digest_bytes(text, strlen(text), hex);
	printf("# %s\n", hex);
	CHECK(START_MACHINE_VERSION == 7);
	CHECK(strcmp(hex, "730361b1fbc698a557586e8bccbb13730b2be6e354e6dc1fe64f"
			  "0744c76c7d39") == 0);
}

int main(void)
{
	RUN(no_path_of_a_sandbox_is_among_the_arguments);
	RUN(every_image_has_its_format_named);
	RUN(a_spool_is_a_disk_of_its_own);
	RUN(only_a_new_warm_image_shares_its_memory);
	RUN(a_restore_has_no_kernel_and_waits_for_its_state);
	RUN(what_must_never_be_missing_is_there);
	RUN(another_machine_has_another_version);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_machine.c - limits of this host, QEMU's version, /proc/cpuinfo
 */
#include "provision/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"
#include "provision/host_cpu.h"
#include "state/paths.h"
#include "state/sandbox_record.h"

static void defaults_fit_the_host(void)
{
	unsigned cpus = 0, memory_mib = 0;
	uint64_t disk_bytes = 0;
	struct error err;

	CHECK(machine_check_cpus(&cpus, START_ACCEL_TCG, &err) == 0);
	CHECK(cpus >= 1 && cpus <= 8);
	CHECK(machine_check_memory(&memory_mib, &err) == 0);
	CHECK(memory_mib > 0 && memory_mib <= 4096);
	CHECK(machine_check_disk(&disk_bytes, &err) == 0);
	CHECK(disk_bytes >= 100000000000ull && disk_bytes % (1 << 20) == 0);
}

static void what_the_host_does_not_have_is_refused_with_numbers(void)
{
	unsigned cpus = 100000, memory_mib = 1 << 30;
	uint64_t disk_bytes = 1;
	struct error err;

	CHECK(machine_check_cpus(&cpus, START_ACCEL_TCG, &err) < 0);
	CHECK(strstr(err.text, "100000") && strstr(err.text, "this machine"));
	CHECK(machine_check_memory(&memory_mib, &err) < 0);
	CHECK(strstr(err.text, "this machine has"));
	memory_mib = 1;
	CHECK(machine_check_memory(&memory_mib, &err) < 0);
	CHECK(machine_check_disk(&disk_bytes, &err) < 0);
	disk_bytes = UINT64_MAX;
	CHECK(machine_check_disk(&disk_bytes, &err) < 0);
}

static void running_sandboxes_count_against_the_host(void)
{
	struct error err;
	struct sandbox_record record = {
		.name = "big",
		.id = "0123456789abcdef0123456789abcdef",
		.agent = "shell",
		.mode = "direct",
		.template_name = "tiny",
		.template_id = "sha256:1",
		.kernel_key = "k",
		.machine = "pc-q35-7.2",
		.cpu = "max",
		.accel = "auto",
		.isolation = "microvm",
		.cpus = 1,
		.memory_mib = 1 << 30,
		.disk_bytes = 1 << 30,
	};
	AUTO_CLOSE int folder = paths_open(PATHS_STATE, "sandboxes/big", &err);
	AUTO_CLOSE int alive = -1, other = -1, admitted = -1;

	REQUIRE(folder >= 0 && mkdirat(folder, "machine", 0700) == 0);
	REQUIRE(sandbox_record_save(folder, &record, &err) == 0);
	other = paths_open(PATHS_STATE, "sandboxes/other", &err);
	REQUIRE(other >= 0);
	admitted = machine_admit(other, 128, &err);
	CHECK(admitted >= 0);
	alive = fileio_lock(folder, "machine/alive", FILEIO_LOCK_TRY, &err);
	REQUIRE(alive >= 0);
	CHECK(machine_admit(other, 128, &err) < 0);
	CHECK(err.code == ENOMEM && strstr(err.text, "1 running"));
	/* one that was let in counts before its supervisor lives */
	close(TAKE_FD(alive));
	close(TAKE_FD(admitted));
	admitted = machine_admit(folder, 128, &err);
	CHECK(admitted >= 0);
	CHECK(machine_admit(other, 128, &err) < 0 && err.code == ENOMEM);
}

static void qemu_is_asked_once(void)
{
	struct machine first, second;
	struct error err;

	REQUIRE(machine_find(&first, &err) == 0);
	CHECK(strncmp(first.type, "pc-q35-", 7) == 0);
	REQUIRE(machine_find(&second, &err) == 0);
	CHECK(strcmp(first.version, second.version) == 0);
	CHECK(strcmp(first.identity, second.identity) == 0);
	machine_release(&first);
	machine_release(&second);
}

static void an_unknown_accelerator_is_refused(void)
{
	struct machine_accel accel;
	struct error err;

	CHECK(machine_accel("hvf", NULL, &accel, &err) < 0);
	CHECK(machine_accel("tcg", NULL, &accel, &err) == 0);
	CHECK(accel.use == START_ACCEL_TCG);
}

static void a_failure_of_kvm_is_remembered(void)
{
	struct machine_accel accel;
	struct error err;

	machine_accel_failed("it spins");
	CHECK(machine_accel("auto", NULL, &accel, &err) == 0);
	CHECK(accel.use == START_ACCEL_TCG);
	CHECK(accel.reason[0]);
}

static void cpuinfo_is_read_by_whole_words(void)
{
	static const char text[] = "processor\t: 0\nmodel name\t: A CPU @ 2\n"
				   "flags\t\t: fpu svm_lock vmx2\nmodel\t: 6\n";
	AUTO_FREE char *model = host_cpu_value(text, "model name");
	AUTO_FREE char *number = host_cpu_value(text, "model");
	AUTO_FREE char *flags = host_cpu_value(text, "flags");

	REQUIRE(model && number && flags);
	CHECK(strcmp(model, "A CPU @ 2") == 0);
	CHECK(strcmp(number, "6") == 0);
	CHECK(!host_cpu_has_word(flags, "svm"));
	CHECK(!host_cpu_has_word(flags, "vmx"));
	CHECK(host_cpu_has_word(flags, "fpu"));
	CHECK(host_cpu_value(text, "nothing") == NULL);
}

static void a_kernel_that_crashed_ends_its_machine(void)
{
	for (int accel = START_ACCEL_TCG; accel <= START_ACCEL_KVM; accel++) {
		const char *args = machine_kernel_args_fixed(accel);

		CHECK(strstr(args, " oops=panic ") &&
		      strstr(args, " panic=-1 "));
	}
}

int main(void)
{
	char home[] = "/tmp/bawn-test-machine-XXXXXX";
	int parent;

	if (!mkdtemp(home) || setenv("BAWN_HOME", home, 1) < 0)
		return 1;
	RUN(defaults_fit_the_host);
	RUN(what_the_host_does_not_have_is_refused_with_numbers);
	RUN(running_sandboxes_count_against_the_host);
	if (access("/usr/bin/qemu-system-x86_64", X_OK) == 0)
		RUN(qemu_is_asked_once);
	else
		SKIP(qemu_is_asked_once, "no QEMU here");
	RUN(an_unknown_accelerator_is_refused);
	RUN(a_failure_of_kvm_is_remembered);
	RUN(cpuinfo_is_read_by_whole_words);
	RUN(a_kernel_that_crashed_ends_its_machine);
	parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fileio_remove_tree(parent, home + 5, NULL);
	close(parent);
	return DONE();
}

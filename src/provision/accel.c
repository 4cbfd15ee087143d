/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accel.c - KVM or emulation: probed, never assumed
 *
 * /dev/kvm can exist, open, run real-mode code and then spin for ever with a
 * distribution's kernel. So KVM is used only after a machine has booted under
 * it to its agent: the tiny template, which no guest can have touched, once
 * for each boot of the host, host kernel and CPU.
 */
#include "provision/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/host_cpu.h"
#include "provision/kernel.h"
#include "provision/maker.h"
#include "provision/template.h"
#include "state/paths.h"

#define PROBE_CACHE "kvm-probe.json"
#define PROBE_TIMEOUT_MS 15000
#define PROBE_MEMORY_MIB 256

/* What the answer depends on, as one text. */
static char *probe_key(void)
{
	AUTO_BUFFER struct buffer boot = BUFFER_INIT(64);
	AUTO_FREE char *cpu = host_cpu_model();
	struct utsname name = { 0 };

	uname(&name);
	fileio_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &boot, NULL);
	return xasprintf("%.*s %s %s %s", (int)boot.len,
			 boot.data ? (char *)boot.data : "", name.release,
			 name.version, cpu);
}

/* 1 works, 0 does not (why is filled), -1 nobody has tried. */
static int cached_probe(char *why, size_t size)
{
	AUTO_CLOSE int cache = paths_open(PATHS_CACHE, NULL, NULL);
	AUTO_BUFFER struct buffer text = BUFFER_INIT(65536);
	AUTO_FREE char *key = probe_key();
	const char *cached, *reason;
	int works, result = -1;
	json_t *root;

	if (cache < 0 || fileio_read(cache, PROBE_CACHE, &text, NULL) < 0)
		return -1;
	root = json_loadb((const char *)text.data, text.len, 0, NULL);
	if (root &&
	    json_unpack(root, "{s:s, s:b, s:s}", "key", &cached, "works",
			&works, "reason", &reason) == 0 &&
	    strcmp(cached, key) == 0) {
		text_copy(why, size, reason);
		result = works;
	}
	json_decref(root);
	return result;
}

static void save_probe(bool works, const char *reason)
{
	AUTO_CLOSE int cache = paths_open(PATHS_CACHE, NULL, NULL);
	AUTO_FREE char *key = probe_key();
	json_t *root = json_pack("{s:s, s:b, s:s}", "key", key, "works", works,
				 "reason", reason);
	AUTO_FREE char *text = json_dumps(root, JSON_INDENT(2));

	json_decref(root);
	if (cache >= 0 && text)
		fileio_replace(cache, PROBE_CACHE, text, strlen(text), 0600, 0,
			       NULL);
}

void machine_accel_failed(const char *why)
{
	save_probe(false, why);
}

/*
 * What is tried is the making of a small warm image: a boot to the agent, and
 * the saving of a machine besides.
 */
static void fill_probe(struct start_spec *spec, const struct machine *machine,
		       const struct kernel *kernel,
		       const struct template *template, const char *folder)
{
	*spec = (struct start_spec){
		.goal = START_MAKE_WARM,
		.accel = START_ACCEL_KVM,
		.name = xstrdup("probe"),
		.id = maker_id(),
		.folder = xstrdup(folder),
		.qemu = xstrdup(machine->qemu),
		.ram = xasprintf("%s/ram", folder),
		.device_state = xasprintf("%s/state", folder),
		.kernel = xstrdup(kernel->vmlinux),
		.initramfs = xstrdup(kernel->initramfs),
		.disks = { xasprintf("%s/disk.qcow2", folder),
			   xstrdup(template->disk) },
		.disk_count = 2,
		.cpus = 1,
		.memory_mib = PROBE_MEMORY_MIB,
		.machine = xstrdup(machine->type),
		.cpu = xstrdup(machine_cpu_model(START_ACCEL_KVM)),
		.append = xasprintf("%s bawn.prime",
				    machine_kernel_args(START_ACCEL_KVM)),
		.boot_timeout_ms = PROBE_TIMEOUT_MS,
	};
}

static int boot_probe(const struct kernel *kernel,
		      const struct template *template, struct error *err)
{
	AUTO_CLOSE int cache = paths_open(PATHS_CACHE, NULL, err);
	AUTO_CLOSE int lock = -1;
	AUTO_FREE char *folder = paths_of(PATHS_CACHE, "kvm-probe", err);
	struct machine machine;
	struct start_spec spec;
	json_t *answer = NULL;
	bool works;

	if (cache < 0 || !folder)
		return -1;
	lock = fileio_lock(cache, "kvm-probe.lock", FILEIO_LOCK_WAIT, err);
	if (lock < 0 || machine_find(&machine, err) < 0)
		return -1;
	fileio_remove_tree(cache, "kvm-probe", NULL);
	fill_probe(&spec, &machine, kernel, template, folder);
	machine_release(&machine);
	if (mkdirat(cache, "kvm-probe", 0700) < 0)
		return error_set(err, errno, "%s", folder);
	works = maker_disk(spec.disks[0], template->size_bytes, err) == 0 &&
		(answer = maker_run(&spec, err)) != NULL;
	json_decref(answer);
	start_spec_release(&spec);
	fileio_remove_tree(cache, "kvm-probe", NULL);
	return works ? 0 : -1;
}

static bool kvm_opens(char *why, size_t size)
{
	AUTO_CLOSE int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return true;
	text_format(why, size, "/dev/kvm: %s%s", strerror(errno),
		    errno == EACCES ? " (add yourself to the group kvm)" : "");
	return false;
}

/* Whether KVM works here; why says so either way. */
static bool probe_kvm(const struct progress *progress, char *why, size_t size)
{
	struct kernel kernel = { 0 };
	struct template template = { 0 };
	struct error err = { 0 };
	int known = cached_probe(why, size);
	bool works;

	if (known >= 0)
		return known;
	if (kernel_ensure(progress, &kernel, &err) < 0 ||
	    template_ensure("tiny", TEMPLATE_USER, progress, &template, &err) <
		    0) {
		/* No answer is not an answer: nothing is remembered. */
		text_format(why, size, "KVM could not be tried: %s", err.text);
		kernel_release(&kernel);
		return false;
	}
	progress_step(progress, "trying KVM (once after each boot)");
	works = boot_probe(&kernel, &template, &err) == 0;
	progress_done(progress);
	text_format(why, size, "%s%s",
		    works ? "KVM booted a test machine"
			  : "KVM does not work here: ",
		    works ? "" : err.text);
	save_probe(works, why);
	kernel_release(&kernel);
	template_release(&template);
	return works;
}

int machine_accel(const char *asked, const struct progress *progress,
		  struct machine_accel *accel, struct error *err)
{
	*accel = (struct machine_accel){ .use = START_ACCEL_TCG };
	if (strcmp(asked, "tcg") == 0) {
		text_copy(accel->reason, sizeof(accel->reason), "asked for");
		return 0;
	}
	if (strcmp(asked, "kvm") == 0) {
		if (!kvm_opens(accel->reason, sizeof(accel->reason)))
			return error_set(err, 0, "--accel kvm: %s",
					 accel->reason);
		accel->use = START_ACCEL_KVM;
		text_copy(accel->reason, sizeof(accel->reason), "asked for");
		return 0;
	}
	if (strcmp(asked, "auto") != 0)
		return error_set(err, 0, "--accel %s: not auto, kvm or tcg",
				 asked);
	if (!host_cpu_can_virtualise()) {
		text_copy(accel->reason, sizeof(accel->reason),
			  "this CPU shows neither vmx nor svm");
		return 0;
	}
	if (kvm_opens(accel->reason, sizeof(accel->reason)) &&
	    probe_kvm(progress, accel->reason, sizeof(accel->reason)))
		accel->use = START_ACCEL_KVM;
	return 0;
}

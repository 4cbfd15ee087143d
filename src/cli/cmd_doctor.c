/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_doctor.c - is this host fit, and what would help
 *
 * Each check is a row; it tries the thing itself where it can.
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/policy_set.h"
#include "cli/print.h"
#include "cli/progress_view.h"
#include "cli/store.h"
#include "isolate/isolate.h"
#include "provision/kernel.h"
#include "provision/machine.h"
#include "provision/template.h"
#include "provision/warm.h"
#include "state/paths.h"

#define GIB (1024ull * 1024 * 1024)

AUTO_DEFINE(json, json_t *, json_decref)

enum verdict {
	VERDICT_PASS,
	VERDICT_WARN,
	VERDICT_FAIL,

	VERDICTS,
};

static const char *const verdict_names[] = {
	[VERDICT_PASS] = "pass",
	[VERDICT_WARN] = "warn",
	[VERDICT_FAIL] = "fail",
};
_Static_assert(ARRAY_SIZE(verdict_names) == VERDICTS, "a name for each");

struct finding {
	enum verdict verdict;
	char text[256];   /* what was found */
	char advice[256]; /* what to do; "" when there is nothing */
};

static void found(struct finding *finding, enum verdict verdict,
		  const char *text, const char *advice)
{
	finding->verdict = verdict;
	text_copy(finding->text, sizeof(finding->text), text);
	text_copy(finding->advice, sizeof(finding->advice), advice);
}

static void check_qemu(struct finding *finding)
{
	struct machine machine = { 0 };
	struct error err = { 0 };

	if (machine_find(&machine, &err) < 0) {
		found(finding, VERDICT_FAIL, err.text,
		      "install QEMU (Debian: qemu-system-x86)");
		return;
	}
	text_format(finding->text, sizeof(finding->text), "%s, %s",
		    machine.version, machine.type);
	machine_release(&machine);
}

static void check_accel(struct finding *finding)
{
	struct machine_accel accel = { 0 };
	struct error err = { 0 };

	if (machine_accel("auto", progress_view(), &accel, &err) < 0)
		found(finding, VERDICT_FAIL, err.text, "");
	else if (accel.use == START_ACCEL_KVM)
		found(finding, VERDICT_PASS, "KVM works", "");
	else {
		found(finding, VERDICT_WARN, "", "");
		text_format(finding->text, sizeof(finding->text),
			    "emulation (TCG), no KVM: %s", accel.reason);
		text_copy(finding->advice, sizeof(finding->advice),
			  "sandboxes run, only slower; with KVM: switch on "
			  "virtualisation and join group kvm");
	}
	progress_view_clear();
}

static void check_kernel(struct finding *finding)
{
	struct kernel kernel = { 0 };
	struct error err = { 0 };

	if (kernel_find(&kernel, &err) < 0) {
		found(finding, VERDICT_WARN, err.text,
		      "the first start fetches it");
		return;
	}
	if (kernel.flaw)
		found(finding, VERDICT_WARN, "",
		      "run \"sudo apt-get update\"; a start looks for another "
		      "one once a day");
	text_format(finding->text, sizeof(finding->text), "%s (%s)%s%s",
		    kernel.release, kernel.source ? kernel.source : "",
		    kernel.flaw ? " " : "", kernel.flaw ? kernel.flaw : "");
	kernel_release(&kernel);
}

static void check_template(struct finding *finding)
{
	struct template template = { 0 };
	struct error err = { 0 };
	char size[32];

	if (template_find("base", &template, &err) < 0) {
		found(finding, VERDICT_WARN, err.text,
		      "the first start makes it, which takes minutes; `bawn "
		      "template pull base` does it now");
		return;
	}
	text_from_size(template.used_bytes, size, sizeof(size));
	text_format(finding->text, sizeof(finding->text), "base, %s%s", size,
		    template.system ? ", for all users" : "");
	template_release(&template);
}

static const struct isolate_report *layers(void)
{
	static struct isolate_report report;
	static bool probed;

	if (!probed)
		isolate_probe(&report);
	probed = true;
	return &report;
}

static void check_namespaces(struct finding *finding)
{
	if (layers()->user_namespaces)
		found(finding, VERDICT_PASS, "user namespaces work", "");
	else
		found(finding, VERDICT_WARN, layers()->why_no_namespaces,
		      "the kernel or an LSM (AppArmor) refuses them; Landlock "
		      "and seccomp still confine");
}

static void check_landlock(struct finding *finding)
{
	if (!layers()->landlock) {
		/* QEMU would have its private root, its supervisor nothing */
		found(finding, VERDICT_FAIL, layers()->why_no_landlock,
		      "no sandbox starts without it: use a kernel with "
		      "Landlock (5.13 or later, lsm=landlock)");
		return;
	}
	text_format(finding->text, sizeof(finding->text), "Landlock, ABI %d",
		    layers()->landlock_abi);
}

static void check_seccomp(struct finding *finding)
{
	if (layers()->seccomp)
		found(finding, VERDICT_PASS, "filters work", "");
	else
		found(finding, VERDICT_FAIL, "the kernel takes no filter",
		      "use a kernel with CONFIG_SECCOMP_FILTER");
}

static void check_confinement(struct finding *finding)
{
	const char *rung = isolate_rung(layers());

	if (rung)
		found(finding, VERDICT_PASS, rung, "");
	else
		found(finding, VERDICT_FAIL,
		      "too little confinement is left to run QEMU",
		      "allow user namespaces or Landlock, and seccomp");
}

static void check_memory(struct finding *finding)
{
	struct sysinfo info;
	unsigned long long total, free_now;
	char a[32], b[32];

	if (sysinfo(&info) < 0) {
		found(finding, VERDICT_WARN, strerror(errno), "");
		return;
	}
	total = (unsigned long long)info.totalram * info.mem_unit;
	free_now = ((unsigned long long)info.freeram + info.bufferram) *
		   info.mem_unit;
	text_from_size(total, a, sizeof(a));
	text_from_size(free_now, b, sizeof(b));
	text_format(finding->text, sizeof(finding->text), "%s, %s free", a, b);
	if (total >= 2 * GIB)
		return;
	finding->verdict = VERDICT_WARN;
	text_copy(finding->advice, sizeof(finding->advice),
		  "give sandboxes less with -m");
}

static void check_space(struct finding *finding)
{
	struct error err = { 0 };
	AUTO_CLOSE int fd = paths_open(PATHS_DATA, NULL, &err);
	unsigned long long room;
	struct statvfs vfs;
	char size[32];

	if (fd < 0 || fstatvfs(fd, &vfs) < 0) {
		found(finding, VERDICT_FAIL,
		      fd < 0 ? err.text : strerror(errno), "");
		return;
	}
	room = (unsigned long long)vfs.f_bavail * vfs.f_frsize;
	text_from_size(room, size, sizeof(size));
	text_format(finding->text, sizeof(finding->text), "%s free", size);
	if (room >= 8 * GIB)
		return;
	finding->verdict = room < GIB ? VERDICT_FAIL : VERDICT_WARN;
	text_copy(finding->advice, sizeof(finding->advice),
		  "make room, `bawn prune`, or set BAWN_HOME to another disk");
}

/* True when the file has a line for this user. */
static bool has_subordinate_ids(const char *file, const char *name)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(256u * 1024);
	char number[32];
	char *line, *rest;

	if (fileio_read(AT_FDCWD, file, &text, NULL) < 0 || !buffer_str(&text))
		return false;
	text_format(number, sizeof(number), "%u", getuid());
	rest = (char *)text.data;
	while ((line = strsep(&rest, "\n"))) {
		line[strcspn(line, ":")] = '\0';
		if (*line &&
		    (!strcmp(line, number) || (name && !strcmp(line, name))))
			return true;
	}
	return false;
}

static void check_subordinate_ids(struct finding *finding)
{
	const struct passwd *user = getpwuid(getuid());
	const char *name = user ? user->pw_name : NULL;

	if (getuid() == 0)
		found(finding, VERDICT_PASS, "not needed by root", "");
	else if (has_subordinate_ids("/etc/subuid", name) &&
		 has_subordinate_ids("/etc/subgid", name))
		found(finding, VERDICT_PASS, "there are some", "");
	else
		found(finding, VERDICT_WARN, "this user has none",
		      "templates are made in a slower way; an administrator "
		      "can run `bawn template pull base --system`");
}

static void check_folders(struct finding *finding)
{
	static const enum paths_kind kinds[] = { PATHS_STATE, PATHS_CACHE,
						 PATHS_DATA };
	AUTO_FREE char *path = paths_of(PATHS_STATE, NULL, NULL);
	struct error err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		AUTO_CLOSE int fd = paths_open(kinds[i], NULL, &err);

		if (fd >= 0 && faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
			error_set(&err, errno, "%s", path ? path : "folder");
		if (err.text[0]) {
			found(finding, VERDICT_FAIL, err.text,
			      "set BAWN_HOME to a folder that you can write");
			return;
		}
	}
	found(finding, VERDICT_PASS, path ? path : "", "");
}

static void check_programs(struct finding *finding)
{
	static const char *const names[] = { "bawn-supervisor", "bawn-image",
					     "bawn-init", "bawn-ramshim.so" };
	struct error err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *path = paths_helper(names[i], &err);

		if (!path) {
			found(finding, VERDICT_FAIL, err.text,
			      "install bawn again");
			return;
		}
	}
	found(finding, VERDICT_PASS, "all there", "");
}

static void check_sandboxes(struct finding *finding)
{
	AUTO_STORE struct store store = STORE_INIT;
	struct error err = { 0 };
	char bad[128] = "";
	size_t failed = 0;

	if (store_open(&store, &err) < 0) {
		found(finding, VERDICT_FAIL, err.text, "");
		return;
	}
	for (size_t i = 0; i < store.count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
		struct sandbox_state state;

		if (store_find(&store, store.names[i], &sandbox, NULL) == 0 &&
		    sandbox_state_load(sandbox.folder, &state, NULL) == 0 &&
		    state.status != SANDBOX_STATUS_FAILED)
			continue;
		if (!failed++)
			text_copy(bad, sizeof(bad), store.names[i]);
	}
	text_format(finding->text, sizeof(finding->text),
		    failed ? "%zu, of which %zu failed (%s)" : "%zu",
		    store.count, failed, bad);
	if (!failed)
		return;
	finding->verdict = VERDICT_WARN;
	text_copy(finding->advice, sizeof(finding->advice),
		  "the next exec starts a failed one again; `bawn inspect` "
		  "says why it ended");
}

/* Without it a sandbox has no network; with wrong rules it does not start. */
static void check_network(struct finding *finding)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };
	AUTO(policy) struct policy *policy = NULL;
	struct error err = { 0 };
	AUTO_FREE char *helper = paths_helper("bawn-net", &err);

	if (!helper) {
		found(finding, VERDICT_FAIL, err.text, "install bawn again");
		return;
	}
	if (policy_set_load(NULL, &set, &err) == 0)
		policy = policy_set_compile(&set, &err);
	if (!policy)
		found(finding, VERDICT_FAIL, err.text,
		      "correct that line; `bawn policy ls` shows the rules");
	else
		text_format(finding->text, sizeof(finding->text),
			    "policy %s, %zu rules for every new sandbox",
			    set.preset, policy_rule_count(policy));
}

struct contents {
	struct finding *finding;
	unsigned templates, warm_images;
};

static void verify_template(void *ctx, const struct template *template)
{
	struct contents *contents = ctx;
	struct error err = { 0 };

	contents->templates++;
	if (template_verify(template, &err) == 0)
		return;
	error_prefix(&err, "template %s", template->name);
	found(contents->finding, VERDICT_FAIL, err.text,
	      "sandboxes that stand on it may be damaged: save what they hold");
}

static void verify_warm(void *ctx, const char *key)
{
	struct contents *contents = ctx;
	struct error err = { 0 };

	contents->warm_images++;
	if (warm_verify(key, &err) == 0 ||
	    contents->finding->verdict == VERDICT_FAIL)
		return;
	found(contents->finding, VERDICT_FAIL, err.text,
	      "remove the sandboxes whose `inspect` names it, then its folder");
}

/* Only when asked for: it reads all of them. */
static void check_contents(struct finding *finding)
{
	struct contents contents = { .finding = finding };
	struct error err = { 0 };

	if (template_each(verify_template, &contents, &err) < 0 ||
	    warm_each(verify_warm, &contents, &err) < 0)
		found(finding, VERDICT_FAIL, err.text, "");
	if (finding->verdict == VERDICT_PASS)
		text_format(finding->text, sizeof(finding->text),
			    "%u templates and %u warm images are as they were "
			    "made",
			    contents.templates, contents.warm_images);
}

static const struct {
	const char *name;
	void (*check)(struct finding *finding);
} checks[] = {
	{ "programs of bawn", check_programs },
	{ "QEMU", check_qemu },
	{ "acceleration (KVM)", check_accel },
	{ "guest kernel", check_kernel },
	{ "template", check_template },
	{ "namespaces", check_namespaces },
	{ "Landlock", check_landlock },
	{ "seccomp", check_seccomp },
	{ "confinement of QEMU", check_confinement },
	{ "memory", check_memory },
	{ "disk space", check_space },
	{ "subordinate ids", check_subordinate_ids },
	{ "folders", check_folders },
	{ "network", check_network },
	{ "sandboxes", check_sandboxes },
	{ "contents", check_contents }, /* the last one: for --verify */
};

static void show(const char *name, const struct finding *finding)
{
	char text[300];

	text_printable(finding->text, strlen(finding->text), text,
		       sizeof(text));
	printf("%s  %-20s %s\n", verdict_names[finding->verdict], name, text);
	if (finding->advice[0])
		printf("%27s%s\n", "-> ", finding->advice);
}

static int run(const struct options *options, struct error *err)
{
	AUTO(json) json_t *list = json_array();
	bool json = options_flag(options, "json");
	bool failed = false;
	size_t count = ARRAY_SIZE(checks) - !options_flag(options, "verify");

	for (size_t i = 0; i < count; i++) {
		struct finding finding = { VERDICT_PASS, "", "" };

		checks[i].check(&finding);
		failed = failed || finding.verdict == VERDICT_FAIL;
		if (!json)
			show(checks[i].name, &finding);
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:s}", "name",
						checks[i].name, "status",
						verdict_names[finding.verdict],
						"text", finding.text, "advice",
						finding.advice));
	}
	if (json)
		print_json(list);
	return failed;
}

static const struct option_row rows[] = {
	{ "verify", '\0', OPTION_FLAG, NULL,
	  "also read all templates and warm images, and compare them", NULL,
	  OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_doctor = {
	.name = "doctor",
	.arguments = "",
	.help = "check this host, and say what to do",
	.options = rows,
	.failure_code = 1,
	.run = run,
};

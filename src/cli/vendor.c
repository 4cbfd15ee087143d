/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vendor.c - runs a vendor's installer in a sandbox, for a template
 *
 * The installer is root there and sees an empty home, which stays in the
 * template: what it installs is the same for every user, and does not change.
 */
#include "cli/vendor.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "cli/blocked.h"
#include "cli/builder.h"
#include "cli/progress_view.h"
#include "provision/template_build.h"
#include "provision/template_ini.h"

/* Exit codes of the script. */
enum {
	UNREACHABLE = 70,
	NOT_INSTALLED,
	DOES_NOT_RUN,
};

/* $1 the home, $2 the URL, $3 the command, $4 the check. */
static const char script[] =
	"umask 022; export HOME=\"$1\" INSTALLER=/tmp/installer\n"
	"mkdir -p \"$HOME\" && cd \"$HOME\" || exit 71\n"
	"if command -v curl >/dev/null; then\n"
	"  curl -fsSL --connect-timeout 20 --max-time 300 -o $INSTALLER "
	"\"$2\" || exit 70\n"
	"else\n"
	"  wget -q -T 20 -O $INSTALLER \"$2\" || exit 70\n"
	"fi\n"
	"sh -e -c \"$3\" </dev/null >&2 || exit 71\n"
	"rm -f $INSTALLER\n"
	"sh -c \"$4\" </dev/null >&2 || exit 72\n";

static int explain(const struct template_ini *ini, int code, struct error *err)
{
	switch (code) {
	case UNREACHABLE:
		return error_set(err, 0,
				 "its vendor cannot be reached (%s): try again "
				 "when this machine can, or name a template "
				 "that has it with -t",
				 ini->vendor);
	case DOES_NOT_RUN:
		return error_set(err, 0,
				 "what its vendor's installer put there does "
				 "not run (%s)",
				 ini->check);
	default:
		return error_set(err, 0,
				 "its vendor's installer failed (%s); what it "
				 "said is above",
				 ini->vendor);
	}
}

static int install(struct builder *builder, const struct template_build *build,
		   struct error *err)
{
	const struct template_ini *ini = build->ini;
	AUTO_FREE char *home = xasprintf("/usr/local/lib/%s", build->name);
	const char *argv[] = { "sh",         "-c",       script,
			       "sh",         home,       ini->vendor,
			       ini->install, ini->check, NULL };
	struct blocked_mark mark = blocked_begin(&builder->sandbox);
	struct builder_io io = BUILDER_IO_INIT;
	int code = builder_run(builder, argv, &io, err);

	if (code <= 0)
		return code;
	blocked_report(&builder->sandbox, &mark);
	return explain(ini, code, err);
}

static int take_files(struct builder *builder, int tar_fd, struct error *err)
{
	static const char *const argv[] = { "/proc/1/exe", "root-out", NULL };
	struct builder_io io = BUILDER_IO_INIT;
	int code;

	io.out = tar_fd;
	code = builder_run(builder, argv, &io, err);
	if (code <= 0)
		return code;
	return error_set(err, 0, "its files could not be read");
}

int vendor_install(const struct template_build *build, int tar_fd,
		   struct error *err)
{
	AUTO_BUILDER struct builder builder = BUILDER_INIT;

	progress_step(build->progress, "running its vendor's installer");
	if (builder_open_alone(&builder, build->ini->from, build->ini->allows,
			       err) < 0 ||
	    install(&builder, build, err) < 0)
		return -1;
	progress_step(build->progress, "reading the template's files");
	return take_files(&builder, tar_fd, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_vendor.c - a template with what a vendor's installer puts there
 *
 * No package registry has these programs, and nobody else may hand them on: so
 * the installer runs here, in a sandbox that reaches the vendor and nobody
 * else, and its disk becomes the template.
 */
#include "provision/template_build.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "provision/template_ini.h"

static template_vendor_fn *run_installer;

void template_use_vendor(template_vendor_fn *fn)
{
	run_installer = fn;
}

int template_build_vendor(struct template_build *build, struct error *err)
{
	const struct template_ini *ini = build->ini;
	struct template_image image;
	AUTO_CLOSE int tar = -1;

	if (!ini->from || !ini->vendor || !ini->install || !ini->check)
		return error_set(err, 0,
				 "builder vendor needs from, vendor, install "
				 "and check");
	if (!run_installer)
		return error_set(err, 0, "it is made by `bawn template pull`");
	tar = openat(build->folder_fd, "files.tar",
		     O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (tar < 0)
		return error_set(err, errno, "%s", build->folder);
	if (unlinkat(build->folder_fd, "files.tar", 0) < 0 ||
	    run_installer(build, tar, err) < 0)
		return -1;
	if (lseek(tar, 0, SEEK_SET) < 0 ||
	    template_image_start(&image, build, tar, -1, err) < 0 ||
	    template_image_finish(&image, build, err) < 0)
		return error_prefix(err, "its files");
	text_format(build->source, sizeof(build->source), "%s, %s", ini->from,
		    ini->vendor);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provision_tool.c - kernels and templates from the command line, for the
 * component tests: no supervisor, no QEMU
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/progress.h"
#include "provision/kernel.h"
#include "provision/template.h"
#include "provision/template_build.h"
#include "provision/template_ini.h"

static void show_step(void *ctx, const char *text)
{
	fprintf(stderr, "step %s\n", text);
}

static void show_update(void *ctx, uint64_t done, uint64_t total)
{
	fprintf(stderr, "update %llu %llu\n", (unsigned long long)done,
		(unsigned long long)total);
}

static void show_done(void *ctx)
{
	fputs("done\n", stderr);
}

static const struct progress progress = { .step = show_step,
					  .update = show_update,
					  .done = show_done };

static int run_kernel(int (*get)(const struct progress *, struct kernel *,
				 struct error *),
		      struct error *err)
{
	struct kernel kernel = { 0 };

	if (get(&progress, &kernel, err) < 0)
		return -1;
	printf("key %s\nrelease %s\nsource %s\nvmlinux %s\ninitramfs %s\n",
	       kernel.key, kernel.release, kernel.source, kernel.vmlinux,
	       kernel.initramfs);
	kernel_release(&kernel);
	return 0;
}

static int find_kernel(const struct progress *unused, struct kernel *kernel,
		       struct error *err)
{
	return kernel_find(kernel, err);
}

static void show_template(void *ctx, const struct template *template)
{
	printf("name %s\nid %s\nsource %s\ndisk %s\nsystem %d\n",
	       template->name, template->id, template->source, template->disk,
	       template->system);
}

static int make_template(const char *name, enum template_place place,
			 struct error *err)
{
	struct template template = { 0 };

	if (template_ensure(name, place, &progress, &template, err) < 0)
		return -1;
	show_template(NULL, &template);
	template_release(&template);
	return 0;
}

/* Stands in for a sandbox with an installer in it: files as of a tar. */
static int fake_vendor(const struct template_build *build, int tar_fd,
		       struct error *err)
{
	AUTO_BUFFER struct buffer tar = BUFFER_INIT(1 << 20);
	const char *path = getenv("FAKE_VENDOR");

	if (!path)
		return error_set(err, 0, "its vendor cannot be reached (%s)",
				 build->ini->vendor);
	if (fileio_read(AT_FDCWD, path, &tar, err) < 0)
		return -1;
	return fileio_write_all(tar_fd, tar.data, tar.len, err);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	int result = -1;

	log_identity("provision_tool", NULL);
	template_use_vendor(fake_vendor);
	if (argc == 2 && strcmp(argv[1], "kernel") == 0)
		result = run_kernel(kernel_ensure, &err);
	else if (argc == 2 && strcmp(argv[1], "kernel-find") == 0)
		result = run_kernel(find_kernel, &err);
	else if (argc == 2 && strcmp(argv[1], "templates") == 0)
		result = template_each(show_template, NULL, &err);
	else if (argc == 3 && strcmp(argv[1], "template") == 0)
		result = make_template(argv[2], TEMPLATE_USER, &err);
	else if (argc == 3 && strcmp(argv[1], "template-system") == 0)
		result = make_template(argv[2], TEMPLATE_SYSTEM, &err);
	if (result < 0)
		fprintf(stderr, "error %d %s\n", err.code, err.text);
	return result < 0;
}

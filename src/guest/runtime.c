/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - containers of the sandbox's engine trust the gate, too
 */
#include "guest/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/environment.h"
#include "guest/runtime_edit.h"
#include "guest/trust.h"
#include "guest/trust_internal.h"

#define NAME "runc"
#define DEFAULT_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define INSIDE "/dev/.bawn"
#define INSIDE_FILE INSIDE "/ca.crt"
#define INSIDE_BUNDLE INSIDE "/ca-bundle.crt"
#define BUNDLE_MAX (4u * 1024 * 1024)

void runtime_provide(void)
{
	if ((mkdir(RUNTIME_FOLDER, 0755) < 0 && errno != EEXIST) ||
	    (symlink("/proc/1/exe", RUNTIME_FOLDER "/" NAME) < 0 &&
	     errno != EEXIST))
		log_warn("%s: %s", RUNTIME_FOLDER, strerror(errno));
}

bool runtime_is_called(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && strcmp(slash ? slash + 1 : argv0, NAME) == 0;
}

/* A link in an image leads to a file of that image, whatever it says. */
static int open_inside(int root, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int read_image_bundle(const char *folder, const struct oci_spec *spec,
			     struct buffer *out)
{
	AUTO_CLOSE int base = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int root = -1;
	const char *place;

	if (base < 0 || !spec->root[0])
		return -1;
	root = openat(base, spec->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; root >= 0 && (place = trust_bundle_place(i));
	     i++) {
		AUTO_CLOSE int fd = open_inside(root, place);

		if (fd >= 0)
			return fileio_read_fd(fd, out, NULL);
	}
	return -1;
}

/*
 * What the container shall see as its list: the image's with the authority, in
 * a file of its own beside the settings; else the sandbox's.
 */
static int make_bundle(const char *folder, const struct oci_spec *spec,
		       char out[PATH_MAX])
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(BUNDLE_MAX);
	const char *own = trust_find_bundle("");

	if (read_image_bundle(folder, spec, &text) < 0) {
		if (!own || !realpath(own, out))
			return -1;
		return 0;
	}
	if (buffer_append(&text, "\n", 1) < 0 ||
	    fileio_read(AT_FDCWD, TRUST_FILE, &text, NULL) < 0 ||
	    text_format(out, PATH_MAX, "%s/bawn-ca-bundle.crt", folder) < 0)
		return -1;
	return fileio_replace(AT_FDCWD, out, text.data, text.len, 0644, 0,
			      NULL);
}

struct variables {
	const char *names[TRUST_VARIABLES + 1];
	const char *values[TRUST_VARIABLES];
};

/* False: nothing is to be trusted. */
static bool find_variables(struct variables *out)
{
	struct trust_variable known[TRUST_VARIABLES];
	unsigned count = trust_variables("", known);

	for (unsigned i = 0; i < count; i++) {
		out->names[i] = known[i].name;
		out->values[i] = strcmp(known[i].value, TRUST_FILE) == 0
					 ? INSIDE_FILE
					 : INSIDE_BUNDLE;
	}
	out->names[count] = NULL;
	return count > 0;
}

static int edit_file(const char *path, const struct runtime_call *call,
		     const struct variables *variables)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(OCI_SPEC_BYTES_MAX);
	AUTO_BUFFER struct buffer edited = BUFFER_INIT(2 * OCI_SPEC_BYTES_MAX);
	char bundle[PATH_MAX];
	struct runtime_mount mounts[] = { { TRUST_FILE, INSIDE_FILE },
					  { bundle, INSIDE_BUNDLE } };
	struct runtime_additions additions = { .names = variables->names,
					       .values = variables->values,
					       .mounts = mounts };
	struct oci_spec spec;

	if (fileio_read(AT_FDCWD, path, &text, NULL) < 0 || !text.len ||
	    oci_spec_find((const char *)text.data, text.len, call->kind,
			  variables->names, &spec) < 0)
		return -1;
	if (call->kind == OCI_SPEC_CONTAINER) {
		additions.mount_count = ARRAY_SIZE(mounts);
		if (make_bundle(call->path, &spec, bundle) < 0)
			return -1;
	}
	if (runtime_edit((const char *)text.data, text.len, &spec, &additions,
			 &edited) < 0)
		return -1;
	return fileio_replace(AT_FDCWD, path, edited.data, edited.len, 0600, 0,
			      NULL);
}

static void add_trust(char *const *argv)
{
	struct variables variables;
	struct runtime_call call;
	char path[PATH_MAX];

	if (!runtime_call_read(argv, &call) || !find_variables(&variables))
		return;
	if (text_format(path, sizeof(path), "%s%s", call.path,
			call.kind == OCI_SPEC_CONTAINER ? "/config.json"
							: "") == 0)
		(void)!edit_file(path, &call, &variables);
}

_Noreturn void runtime_run(char **argv)
{
	const char *path = getenv("PATH");
	char program[PATH_MAX];

	add_trust(argv);
	if (!path)
		path = DEFAULT_PATH;
	while (environment_path_next(&path, NAME, program, sizeof(program))) {
		if (strcmp(program, RUNTIME_FOLDER "/" NAME) != 0 &&
		    access(program, X_OK) == 0)
			execv(program, argv);
	}
	fprintf(stderr, NAME ": not found\n");
	_exit(127);
}

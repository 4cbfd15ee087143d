/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - kernel modules of the initramfs
 */
#include "guest/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"

#define ORDER_BYTES_MAX (256u * 1024)
#define WAIT_MS 20000

/* -1, or a byte when [gate] is done; its end when all is. */
static int progress = -1;

/* "[name]" */
static bool is_section(struct slice line, char section[MODULE_SECTION_MAX])
{
	struct slice name = { line.start + 1, line.len - 2 };

	return line.len > 2 && line.start[0] == '[' &&
	       line.start[line.len - 1] == ']' &&
	       !slice_copy(name, section, MODULE_SECTION_MAX);
}

bool modules_next(struct slice *order, char section[MODULE_SECTION_MAX],
		  char name[MODULE_NAME_MAX])
{
	struct slice line;

	while (slice_line(order, &line)) {
		line = slice_trim(line);
		if (!line.len || is_section(line, section) ||
		    strchr("#.[", line.start[0]) ||
		    memchr(line.start, '/', line.len))
			continue;
		if (!slice_copy(line, name, MODULE_NAME_MAX))
			return true;
	}
	return false;
}

static const char *parameters_of(const char *name)
{
	/* It would make an interface by itself. */
	return strcmp(name, "dummy.ko") ? "" : "numdummies=0";
}

static void load_one(int folder, const char *name)
{
	AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		log_warn("module %s: %s", name, strerror(errno));
		return;
	}
	if (syscall(SYS_finit_module, fd, parameters_of(name), 0) &&
	    errno != EEXIST)
		log_warn("module %s: %s", name, strerror(errno));
}

/* Those of the section, or (NULL) of all but the first two. */
static void load_section(int folder, struct slice order, const char *wanted)
{
	char section[MODULE_SECTION_MAX] = "boot", name[MODULE_NAME_MAX];

	while (modules_next(&order, section, name)) {
		bool early =
			!strcmp(section, "boot") || !strcmp(section, "gate");

		if (wanted ? !strcmp(section, wanted) : !early)
			load_one(folder, name);
	}
}

static void load_rest(int root, int folder, struct slice order, int report)
{
	struct error err;

	load_section(folder, order, "gate");
	if (report >= 0 && write(report, "g", 1) < 0)
		log_debug("modules: %s", strerror(errno));
	load_section(folder, order, NULL);
	if (fileio_remove_tree(root, "modules", &err) ||
	    fileio_remove_tree(root, "modules.order", &err))
		log_debug("initramfs: %s", err.text);
}

void modules_load(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(ORDER_BYTES_MAX);
	AUTO_CLOSE int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int folder =
		open("/modules", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int report[2] = { -1, -1 };
	struct error err;
	struct slice order;
	pid_t child;

	if (folder < 0)
		return; /* a kernel with everything built in */
	if (fileio_read(AT_FDCWD, "/modules.order", &text, &err)) {
		log_warn("%s", err.text);
		return;
	}
	order = (struct slice){ (const char *)text.data, text.len };
	load_section(folder, order, "boot");
	child = pipe2(report, O_CLOEXEC) ? -1 : fork();
	if (child <= 0)
		load_rest(root, folder, order, report[1]);
	if (child == 0)
		_exit(0);
	if (report[1] >= 0)
		close(report[1]);
	progress = report[0];
}

void modules_wait(enum modules_stage stage)
{
	uint64_t deadline = loop_now_ms() + WAIT_MS;
	struct pollfd ready = { .fd = progress, .events = POLLIN };
	char byte;

	while (progress >= 0) {
		uint64_t now = loop_now_ms();

		if (now >= deadline ||
		    poll(&ready, 1, (int)(deadline - now)) <= 0) {
			log_error("modules: they take too long");
			return;
		}
		if (read(progress, &byte, 1) != 1) {
			close(progress);
			progress = -1;
		} else if (stage == MODULES_GATE) {
			return;
		}
	}
}

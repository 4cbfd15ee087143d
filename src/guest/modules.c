/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - kernel modules of the initramfs
 */
#include "guest/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"

#define ORDER_BYTES_MAX (256u * 1024)

bool modules_next(struct slice *order, char name[MODULE_NAME_MAX])
{
	struct slice line;

	while (slice_line(order, &line)) {
		line = slice_trim(line);
		if (!line.len || line.start[0] == '#' || line.start[0] == '.' ||
		    memchr(line.start, '/', line.len))
			continue;
		if (!slice_copy(line, name, MODULE_NAME_MAX))
			return true;
	}
	return false;
}

static void load_one(int folder, const char *name)
{
	AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		log_warn("module %s: %s", name, strerror(errno));
		return;
	}
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		log_warn("module %s: %s", name, strerror(errno));
}

void modules_load(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(ORDER_BYTES_MAX);
	AUTO_CLOSE int folder =
		open("/modules", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[MODULE_NAME_MAX];
	struct error err;
	struct slice order;

	if (folder < 0)
		return; /* a kernel with everything built in */
	if (fileio_read(AT_FDCWD, "/modules.order", &text, &err)) {
		log_warn("%s", err.text);
		return;
	}
	order = (struct slice){ (const char *)text.data, text.len };
	while (modules_next(&order, name))
		load_one(folder, name);
}

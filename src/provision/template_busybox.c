/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_busybox.c - the template "tiny": one static busybox
 */
#include "provision/template_build.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/debian_package.h"
#include "provision/tool.h"
#include "tar/tar_write.h"

#define BUSYBOX_MAX (16u << 20)
#define LIST_MAX (64u << 10)
#define AGENT 1000

static const struct tar_entry frame[] = {
	{ .path = "bin", .mode = S_IFDIR | 0755 },
	{ .path = "dev", .mode = S_IFDIR | 0755 },
	{ .path = "etc", .mode = S_IFDIR | 0755 },
	{ .path = "home", .mode = S_IFDIR | 0755 },
	{ .path = "home/agent",
	  .mode = S_IFDIR | 0755,
	  .uid = AGENT,
	  .gid = AGENT },
	{ .path = "proc", .mode = S_IFDIR | 0555 },
	{ .path = "root", .mode = S_IFDIR | 0700 },
	{ .path = "run", .mode = S_IFDIR | 0755 },
	{ .path = "sbin", .mode = S_IFLNK | 0777, .target = "bin" },
	{ .path = "sys", .mode = S_IFDIR | 0555 },
	{ .path = "tmp", .mode = S_IFDIR | 01777 },
	{ .path = "usr", .mode = S_IFDIR | 0755 },
	{ .path = "usr/bin", .mode = S_IFLNK | 0777, .target = "../bin" },
	{ .path = "usr/sbin", .mode = S_IFLNK | 0777, .target = "../bin" },
	{ .path = "var", .mode = S_IFDIR | 0755 },
	{ .path = "var/tmp", .mode = S_IFDIR | 01777 },
	{ .path = "var/run", .mode = S_IFLNK | 0777, .target = "../run" },
	{ .path = "dev/console",
	  .mode = S_IFCHR | 0600,
	  .device_major = 5,
	  .device_minor = 1 },
	{ .path = "dev/null",
	  .mode = S_IFCHR | 0666,
	  .device_major = 1,
	  .device_minor = 3 },
};

static const struct {
	const char *path, *text;
} texts[] = {
	{ "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
			"agent:x:1000:1000:agent:/home/agent:/bin/sh\n"
			"nobody:x:65534:65534:nobody:/:/bin/false\n" },
	{ "etc/group", "root:x:0:\nagent:x:1000:\ndocker:x:999:agent\n"
		       "nogroup:x:65534:\n" },
	{ "etc/hostname", "bawn\n" },
	{ "etc/hosts", "127.0.0.1 localhost bawn\n::1 localhost\n" },
	{ "etc/machine-id", "" },
	{ "etc/profile", "export PATH=/bin\n" },
	{ "etc/resolv.conf", "" },
};

/* A busybox that needs libraries would not start in an empty root. */
static bool is_static(const struct buffer *file)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (file->len < sizeof(head))
		return false;
	memcpy(&head, file->data, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_phoff > file->len)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		uint64_t at = head.e_phoff + (uint64_t)i * head.e_phentsize;

		if (at > file->len || file->len - at < sizeof(part))
			return false;
		memcpy(&part, file->data + at, sizeof(part));
		if (part.p_type == PT_INTERP)
			return false;
	}
	return true;
}

static int fetch(struct template_build *build, struct buffer *busybox,
		 char *path, size_t size, struct error *err)
{
	static const char *const places[] = { "root/bin/busybox",
					      "root/usr/bin/busybox" };
	char version[64];

	progress_step(build->progress, "fetching busybox-static");
	if (debian_package_fetch("busybox-static", build->folder_fd,
				 build->progress, version, sizeof(version),
				 err) < 0)
		return error_prefix(err, "busybox-static");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		text_format(path, size, "%s/%s", build->folder, places[i]);
		if (fileio_read(build->folder_fd, places[i], busybox, err) == 0)
			return text_format(build->source, sizeof(build->source),
					   "busybox-static %s", version);
	}
	return -1;
}

/* The host's, if it is a static one; else Debian's package. */
static int find_busybox(struct template_build *build, struct buffer *busybox,
			char *path, size_t size, struct error *err)
{
	struct error unread;
	const char *tool = child_tool("busybox", &unread);

	if (tool && fileio_read(AT_FDCWD, tool, busybox, &unread) == 0 &&
	    is_static(busybox)) {
		text_copy(path, size, tool);
		return text_format(build->source, sizeof(build->source),
				   "host %s", tool);
	}
	buffer_consume(busybox, busybox->len);
	return fetch(build, busybox, path, size, err);
}

static int put(int tar, const struct tar_entry *entry, const void *content,
	       struct error *err)
{
	AUTO_BUFFER struct buffer head = BUFFER_INIT(8 * TAR_BLOCK);
	static const char zeroes[TAR_BLOCK];

	if (tar_write_entry(entry, &head) < 0)
		return error_set(err, 0, "%s: too long for a tar header",
				 entry->path);
	if (fileio_write_all(tar, head.data, head.len, err) < 0 ||
	    fileio_write_all(tar, content, entry->size, err) < 0)
		return -1;
	return fileio_write_all(tar, zeroes, tar_padding(entry->size), err);
}

static int put_applets(int tar, const char *busybox_path, struct error *err)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(LIST_MAX);
	const char *argv[] = { "busybox", "--list", NULL };
	struct child_spec spec = { .path = busybox_path,
				   .argv = argv,
				   .env = tool_env(),
				   .flags = CHILD_NULL_STDIO };
	char *rest, *name, path[100];

	if (child_run(&spec, &list, err) < 0)
		return error_prefix(err, "busybox --list");
	if (!buffer_str(&list))
		return error_set(err, 0, "busybox --list is too long");
	rest = (char *)list.data;
	while ((name = strsep(&rest, "\n"))) {
		struct tar_entry link = { .path = path,
					  .mode = S_IFLNK | 0777,
					  .target = "busybox" };

		if (!*name || strcmp(name, "busybox") == 0)
			continue;
		if (strchr(name, '/') ||
		    text_format(path, sizeof(path), "bin/%s", name) < 0)
			return error_set(err, 0, "busybox: bad applet name");
		if (put(tar, &link, NULL, err) < 0)
			return -1;
	}
	return 0;
}

static int write_tar(int tar, const struct buffer *busybox,
		     const char *busybox_path, struct error *err)
{
	struct tar_entry program = { .path = "bin/busybox",
				     .mode = S_IFREG | 0755,
				     .size = busybox->len };
	AUTO_BUFFER struct buffer end = BUFFER_INIT(2 * TAR_BLOCK);

	for (size_t i = 0; i < ARRAY_SIZE(frame); i++)
		if (put(tar, &frame[i], NULL, err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct tar_entry file = { .path = texts[i].path,
					  .mode = S_IFREG | 0644,
					  .size = strlen(texts[i].text) };

		if (put(tar, &file, texts[i].text, err) < 0)
			return -1;
	}
	if (put(tar, &program, busybox->data, err) < 0 ||
	    put_applets(tar, busybox_path, err) < 0)
		return -1;
	if (tar_write_end(&end) < 0)
		abort();
	return fileio_write_all(tar, end.data, end.len, err);
}

int template_build_busybox(struct template_build *build, struct error *err)
{
	AUTO_BUFFER struct buffer busybox = BUFFER_INIT(BUSYBOX_MAX);
	AUTO_CLOSE int tar = memfd_create("tiny.tar", MFD_CLOEXEC);
	struct template_image image;
	char path[4096];

	if (tar < 0)
		return error_set(err, errno, "memfd_create");
	progress_step(build->progress, "making the template tiny");
	if (find_busybox(build, &busybox, path, sizeof(path), err) < 0 ||
	    write_tar(tar, &busybox, path, err) < 0)
		return -1;
	if (lseek(tar, 0, SEEK_SET) < 0)
		return error_set(err, errno, "tiny.tar");
	if (template_image_start(&image, build, tar, -1, err) < 0)
		return -1;
	return template_image_finish(&image, build, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots_map.c - the memory in which the host puts large DATA
 *
 * A PCI device (ivshmem) without a driver: its memory is mapped through sysfs,
 * and only to be read.
 */
#include "guest/slots_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "guest/sysfile.h"
#include "proto/slots.h"

#define DEVICES "/sys/bus/pci/devices"
#define VENDOR "0x1af4\n"
#define DEVICE "0x1110\n" /* ivshmem */
#define MEMORY "resource2"

AUTO_DEFINE(dir, DIR *, closedir)

static bool says(int folder, const char *file, const char *wanted)
{
	char text[32];

	return sysfile_read(folder, file, text, sizeof(text)) > 0 &&
	       !strcmp(text, wanted);
}

static const uint8_t *map_device(int folder)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;
	void *memory;

	if (!sysfile_write(folder, "enable", "1"))
		fd = openat(folder, MEMORY, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_size != SLOTS_BYTES) {
		log_warn("slots: %s", strerror(errno));
		return NULL;
	}
	memory = mmap(NULL, SLOTS_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED)
		return memory;
	log_warn("slots: %s", strerror(errno));
	return NULL;
}

const uint8_t *slots_map(void)
{
	AUTO(dir) DIR *all = opendir(DEVICES);
	struct dirent *entry;

	while (all && (entry = readdir(all))) {
		AUTO_CLOSE int folder =
			openat(dirfd(all), entry->d_name,
			       O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (entry->d_name[0] != '.' && folder >= 0 &&
		    says(folder, "vendor", VENDOR) &&
		    says(folder, "device", DEVICE))
			return map_device(folder);
	}
	return NULL;
}

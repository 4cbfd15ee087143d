/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pci_memory.c - memory that the guest shares with one process of the host
 *
 * A PCI device (ivshmem) without a driver: its memory is mapped through sysfs.
 */
#include "guest/pci_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/sysfile.h"

#define DEVICE_PATH "/sys/bus/pci/devices/0000:00:%02x.0"
#define VENDOR "0x1af4\n"
#define DEVICE "0x1110\n" /* ivshmem */
#define MEMORY "resource2"

static bool says(int folder, const char *file, const char *wanted)
{
	char text[32];

	return sysfile_read(folder, file, text, sizeof(text)) > 0 &&
	       !strcmp(text, wanted);
}

static void *map(int folder, size_t size, int rights)
{
	AUTO_CLOSE int fd = -1;
	void *memory = MAP_FAILED;
	struct stat st;

	if (!sysfile_write(folder, "enable", "1"))
		fd = openat(folder, MEMORY,
			    (rights & PROT_WRITE ? O_RDWR : O_RDONLY) |
				    O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_size == (off_t)size)
		memory = mmap(NULL, size, rights, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED)
		return memory;
	log_warn("shared memory: %s", strerror(errno));
	return NULL;
}

void *pci_memory_map(unsigned device, size_t size, int rights)
{
	AUTO_CLOSE int folder = -1;
	char path[64];

	text_format(path, sizeof(path), DEVICE_PATH, device);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || !says(folder, "vendor", VENDOR) ||
	    !says(folder, "device", DEVICE))
		return NULL;
	return map(folder, size, rights);
}

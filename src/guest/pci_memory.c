/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pci_memory.c - memory that the guest shares with one process of the host
 *
 * A PCI device (ivshmem) without a driver: its memory is mapped through sysfs.
 */
#include "guest/pci_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
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
#define REGISTERS "resource0"
#define REGISTERS_BYTES 256u
#define BELL_REGISTER 12u
#define PAGE_BYTES 4096u

static bool says(int folder, const char *file, const char *wanted)
{
	char text[32];

	return sysfile_read(folder, file, text, sizeof(text)) > 0 &&
	       !strcmp(text, wanted);
}

static int open_folder(unsigned device)
{
	AUTO_CLOSE int folder = -1;
	char path[64];

	text_format(path, sizeof(path), DEVICE_PATH, device);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || !says(folder, "vendor", VENDOR) ||
	    !says(folder, "device", DEVICE))
		return -1;
	return TAKE_FD(folder);
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
	AUTO_CLOSE int folder = open_folder(device);

	return folder < 0 ? NULL : map(folder, size, rights);
}

static volatile uint32_t *bell;

void pci_bell_ring(unsigned peer)
{
	*bell = peer << 16;
}

bool pci_bell_open(unsigned device)
{
	AUTO_CLOSE int folder = open_folder(device);
	AUTO_CLOSE int fd = -1;
	char text[64];
	uint8_t *page;
	uint64_t start;

	/* It is less than a page, and lies anywhere in one. */
	if (folder < 0 || sysfile_write(folder, "enable", "1") ||
	    sysfile_read(folder, "resource", text, sizeof(text)) <= 0)
		return false;
	start = strtoull(text, NULL, 16) % PAGE_BYTES;
	fd = openat(folder, REGISTERS, O_RDWR | O_CLOEXEC);
	page = fd < 0 ? MAP_FAILED
		      : mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || start > PAGE_BYTES - REGISTERS_BYTES) {
		log_warn("bell: %s", strerror(errno));
		return false;
	}
	bell = (volatile uint32_t *)(void *)(page + start + BELL_REGISTER);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_net_names.c - a names file that is read is the one that we would write
 */
#include "net/names.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/fuzz.h"
#include "wire/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("names", MFD_CLOEXEC);
	struct error err = { 0 };
	struct address address;
	struct names names;
	size_t count;

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (names_open(&names, fd, &err) == 0) {
		count = names_count(&names);
		FUZZ_CHECK(lseek(fd, 0, SEEK_END) <= (off_t)size);
		FUZZ_CHECK(names_address(&names, "fuzz.example", NAMES_OTHER,
					 &address, &err) == 0);
		FUZZ_CHECK(names_find(&names, &address));
		names_release(&names);
		FUZZ_CHECK(names_open(&names, fd, &err) == 0);
		FUZZ_CHECK(names_count(&names) >= count &&
			   names_count(&names) <= count + 1);
	}
	names_release(&names);
	close(fd);
	return 0;
}

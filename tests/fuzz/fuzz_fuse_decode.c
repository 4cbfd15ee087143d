/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_fuse_decode.c - what decodes lies inside the message
 */
#include "files/fuse_decode.h"

#include <errno.h>
#include <string.h>

#include "lib/fuzz.h"

static int inside(const void *part, size_t len, const uint8_t *data,
		  size_t size)
{
	const uint8_t *start = part;

	return start >= data && start <= data + size &&
	       len <= (size_t)(data + size - start);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuse_request request;
	int result = fuse_decode(data, size, &request);

	FUZZ_CHECK(result == 0 || result == EINVAL || result == ENOSYS ||
		   result == ENAMETOOLONG || result == EBADMSG);
	if (result)
		return 0;
	FUZZ_CHECK(fuse_opcode_name(request.opcode));
	if (request.name)
		FUZZ_CHECK(inside(request.name, strlen(request.name) + 1, data,
				  size) &&
			   strlen(request.name) <= FUSE_COMPONENT_MAX);
	if (request.name2)
		FUZZ_CHECK(inside(request.name2, strlen(request.name2) + 1,
				  data, size));
	if (request.data)
		FUZZ_CHECK(inside(request.data, request.data_len, data, size));
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_qmp.c - a line of QEMU's monitor
 */
#include "supervisor/qmp_reply.h"

#include "base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qmp_reply reply;
	struct error err;

	if (qmp_reply_parse((const char *)data, size, &reply, &err) == 0) {
		qmp_reply_string(&reply, "status");
		qmp_reply_release(&reply);
	}
	return 0;
}

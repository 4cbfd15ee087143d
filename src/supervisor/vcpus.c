/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vcpus.c - what the vCPUs do of a machine that does not answer
 */
#include "supervisor/vcpus.h"

#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "supervisor/qmp_reply.h"
#include "supervisor/registers.h"
#include "supervisor/sandbox.h"
#include "supervisor/sandbox_internal.h"

/* More lines would tell no more. */
#define VCPUS_MAX 16

static int ask_next(struct sandbox *sandbox);

static void log_one(unsigned vcpu, const struct qmp_reply *reply)
{
	struct registers registers;

	if (!json_is_string(reply->body) ||
	    registers_parse(json_string_value(reply->body),
			    json_string_length(reply->body), &registers) < 0) {
		log_error("vCPU %u: QEMU does not say what it does", vcpu);
		return;
	}
	log_error("vCPU %u: %s at 0x%llx, %s", vcpu,
		  registers.halted ? "halted" : "runs",
		  (unsigned long long)registers.ip,
		  registers.cpl ? "in a program" : "in the kernel");
}

static void on_registers(void *ctx, const struct qmp_reply *reply)
{
	struct sandbox *sandbox = ctx;

	/* It has ended, or soon will: that says more. */
	if (!reply)
		return;
	log_one(sandbox->vcpus_told++, reply);
	if (ask_next(sandbox) < 0)
		sandbox_looked_at(sandbox);
}

/* One at a time: each answer is some thousand bytes. -1: there is none left. */
static int ask_next(struct sandbox *sandbox)
{
	unsigned vcpu = sandbox->vcpus_told;

	if (vcpu >= sandbox->spec->cpus || vcpu >= VCPUS_MAX)
		return -1;
	return qmp_send(&sandbox->qmp, "human-monitor-command",
			json_pack("{s:s, s:i}", "command-line",
				  "info registers", "cpu-index", (int)vcpu),
			on_registers, NULL);
}

static void on_status(void *ctx, const struct qmp_reply *reply)
{
	const char *text;
	char status[32];

	if (!reply)
		return;
	text = qmp_reply_string(reply, "status");
	text_printable(text, strlen(text), status, sizeof(status));
	log_error("the machine's state: %s", status[0] ? status : "unknown");
}

int vcpus_log(struct sandbox *sandbox)
{
	sandbox->vcpus_told = 0;
	if (qmp_send(&sandbox->qmp, "query-status", NULL, on_status, NULL) < 0)
		return -1;
	return ask_next(sandbox);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saving_disk.c - the top layer of the disk as it is at a checkpoint
 *
 * A backup job of QEMU's: what the guest is about to overwrite is copied first,
 * so that the machine need not stand until all of it was copied.
 */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "supervisor/qmp_reply.h"
#include "supervisor/sandbox.h"
#include "supervisor/saving_internal.h"

#define NODE "checkpoint"

static void must_succeed(void *ctx, const struct qmp_reply *reply)
{
	if (reply && reply->kind == QMP_ERROR)
		saving_fail(ctx, "QEMU: disk: %s", reply->text);
}

static void on_begun(void *ctx, const struct qmp_reply *reply)
{
	must_succeed(ctx, reply);
	if (reply && reply->kind != QMP_ERROR)
		saving_disk_begun(ctx);
}

/* Synced once, by whoever asked, and not after each of its tables. */
static json_t *target(const struct sandbox *sandbox)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:{s:b}}}",
		"driver", "qcow2", "node-name", NODE, "backing", "disk1",
		"discard", "unmap", "file", "driver", "file", "filename",
		"/dev/fdset/" QMP_SET_DISK_TEXT, "locking", "off", "discard",
		"unmap", "cache", "no-flush", 1);
}

void saving_disk_open(struct sandbox *sandbox)
{
	struct error err;

	if (qmp_send_fd(&sandbox->qmp, QMP_SET_DISK, sandbox->saving.disk,
			must_succeed, &err) < 0 ||
	    qmp_send(&sandbox->qmp, "blockdev-add", target(sandbox),
		     must_succeed, &err) < 0)
		saving_fail(sandbox, "%s", err.text);
}

void saving_disk_begin(struct sandbox *sandbox)
{
	struct error err;

	if (qmp_send(&sandbox->qmp, "blockdev-backup",
		     json_pack("{s:s, s:s, s:s, s:s}", "job-id", NODE, "device",
			       "disk0", "target", NODE, "sync", "top"),
		     on_begun, &err) < 0)
		saving_fail(sandbox, "%s", err.text);
}

static void on_closed(void *ctx, const struct qmp_reply *reply)
{
	struct sandbox *sandbox = ctx;

	if (!reply || (sandbox->saving.step != SAVING_MACHINE &&
		       sandbox->saving.step != SAVING_REST))
		return;
	if (reply->kind == QMP_ERROR)
		saving_fail(sandbox, "QEMU: disk: %s", reply->text);
	else
		saving_disk_done(sandbox);
}

static void close_target(struct sandbox *sandbox, qmp_answer_fn *on_answer)
{
	qmp_send(&sandbox->qmp, "blockdev-del",
		 json_pack("{s:s}", "node-name", NODE), on_answer, NULL);
	qmp_send(&sandbox->qmp, "remove-fd",
		 json_pack("{s:i}", "fdset-id", QMP_SET_DISK), NULL, NULL);
}

void saving_on_job(struct sandbox *sandbox, const struct qmp_reply *event)
{
	const char *error = qmp_reply_string(event, "error");

	if (strcmp(qmp_reply_string(event, "device"), NODE) != 0)
		return;
	close_target(sandbox, error[0] ? NULL : on_closed);
	if (error[0])
		saving_fail(sandbox, "disk: %s", error);
}

void saving_disk_cancel(struct sandbox *sandbox)
{
	if (sandbox->saving.kind == SAVING_SUSPEND || sandbox->saving.disk < 0)
		return;
	/* Its end, if it runs, is told by an event, which closes the rest. */
	qmp_send(&sandbox->qmp, "block-job-cancel",
		 json_pack("{s:s, s:b}", "device", NODE, "force", 1), NULL,
		 NULL);
	close_target(sandbox, NULL);
}

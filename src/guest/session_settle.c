/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_settle.c - a session has not ended before the host has its files
 *
 * The relay tells a program that a write is done while it is on its way.
 * Whoever waits for `exec` and then reads the file on the host must find it.
 */
#include "base/own.h"
#include "guest/files.h"
#include "guest/session_internal.h"

#define SETTLE_MS 1
#define SETTLE_LIMIT_MS 5000 /* a server that is started anew takes less */

bool session_settled(struct session *session)
{
	const struct files *files = session->sessions->files;

	if (!session->settling) {
		session->settling = true;
		session->changes = files_changes(files);
		session->settle_until_ms = loop_now_ms() + SETTLE_LIMIT_MS;
	}
	if (files_has(files, session->changes) ||
	    loop_now_ms() >= session->settle_until_ms)
		return true;
	timer_start(session->sessions->loop, &session->settle, SETTLE_MS);
	return false;
}

static void on_settle(struct timer *timer)
{
	session_check_end(CONTAINER_OF(timer, struct session, settle));
}

void session_settle_init(struct session *session)
{
	session->settle =
		(struct timer){ .name = "session files", .on_fire = on_settle };
}

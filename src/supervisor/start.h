/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.h - from a fresh QEMU to a guest that is awake, or to a warm image
 *
 * RESTORE    load the device state; the guest runs on by itself; marker, WAKE,
 *            wait for AWAKE
 * COLD       wait for HELLO; WAKE; wait for AWAKE
 * MAKE_WARM  as COLD, then PREPARE; when PREPARED has come nothing touches the
 *            port any more; stop; write the device state; quit
 */
#pragma once

struct message;
struct qmp_reply;
struct sandbox;

void start_begin(struct sandbox *sandbox);
/* HELLO, AWAKE and PREPARED. */
void start_on_message(struct sandbox *sandbox, const struct message *message);
void start_on_marker(struct sandbox *sandbox);
/* MIGRATION */
void start_on_migration(struct sandbox *sandbox, const struct qmp_reply *event);
/* Clock, entropy, identity: at the start and whenever the clock was set. */
void start_send_wake(struct sandbox *sandbox);

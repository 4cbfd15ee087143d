/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - start the supervisor's process (PROTOCOL.md §7)
 */
#pragma once

struct control_client;
struct error;
struct plan;
struct sandbox;

/*
 * The plan's warm image is restored when it has one; otherwise the disk is
 * booted. The connection is ready for requests when this returns.
 */
int launch_supervisor(const struct sandbox *sandbox, const struct plan *plan,
		      struct control_client *control, struct error *err);

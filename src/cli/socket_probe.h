/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_probe.h - is there a Docker daemon behind a Unix socket?
 */
#pragma once

struct error;

/*
 * -1 when one answers, with the reason. Waits a second at most; who says
 * nothing by then passes here, and is asked again by the launcher before a
 * sandbox gets a connection.
 */
int socket_probe(const char *path, struct error *err);

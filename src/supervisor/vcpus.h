/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vcpus.h - what the vCPUs do of a machine that does not answer
 *
 * Nothing else tells where a guest hangs that has written nothing to its
 * console. One line for each goes to the log, before the machine is ended.
 */
#pragma once

struct sandbox;

/* -1: QEMU cannot be asked. Else sandbox_looked_at() follows, unless QEMU
 * never answers. */
int vcpus_log(struct sandbox *sandbox);

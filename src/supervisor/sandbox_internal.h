/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_internal.h - between sandbox.c and sandbox_facts.c
 */
#pragma once

struct sandbox;

/* NEW -> STARTING */
void sandbox_begin(struct sandbox *sandbox);
/* All is saved: QEMU ends. */
void sandbox_quit(struct sandbox *sandbox);
/* The log has what the vCPUs do that did not answer. */
void sandbox_looked_at(struct sandbox *sandbox);
/* QEMU closed a channel: its exit must follow soon. */
void sandbox_channels_closed(struct sandbox *sandbox);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_apply.h - a changed list of shares, for the running machine and the
 * next start
 */
#pragma once

struct error;
struct sandbox;

/* The running machine first: the record says only what worked. */
int share_apply(const struct sandbox *sandbox, struct error *err);

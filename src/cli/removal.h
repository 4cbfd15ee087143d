/* SPDX-License-Identifier: Apache-2.0 */
/*
 * removal.h - end a sandbox and delete it
 */
#pragma once

struct error;
struct store;

/* The machine is ended at once. Works on a damaged record too. */
int removal_of(const struct store *store, const char *name, struct error *err);

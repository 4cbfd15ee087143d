/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone.h - clone mode: a private clone of the workspace on the guest's disk
 */
#pragma once

struct error;
struct plan;
struct request;
struct sandbox;
struct sandbox_record;

/* Before a sandbox is made: whether there is something to clone. */
int clone_check(const struct request *request, struct error *err);
/*
 * At the first start: clones in the guest, carries uncommitted work in, and
 * adds the remote on the host. Nothing to do otherwise. plan as of
 * start_sandbox().
 */
int clone_ensure(struct sandbox *sandbox, struct plan *plan, struct error *err);
/* Adds the remote of a fork; nothing to do in other modes. */
void clone_publish(const struct sandbox *sandbox);
/* Takes the remote away; failures are only logged. */
void clone_forget(const struct sandbox_record *record, int folder);

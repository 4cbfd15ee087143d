/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-files may do once it reads a guest's bytes
 */
#pragma once

struct error;
struct server;

/*
 * Irrevocable; the shares must be open. Started by root, takes the owner of the
 * first share as its own user; where that is root, keeps uid 0 without any
 * capability.
 */
int profile_enter(struct server *server, struct error *err);

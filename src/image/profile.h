/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-image and bawn-registry may do once they read foreign
 * bytes
 */
#pragma once

struct error;

/* Confines this process for good; nothing but descriptors is left. */
int profile_enter(struct error *err);
/* The same with a starter to talk to. */
int profile_enter_talking(struct error *err);
/*
 * The same for bawn-registry, which has no output file of its own: connections,
 * names and certificates.
 */
int profile_enter_network(struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what bawn-image may do once it reads foreign bytes
 */
#pragma once

struct error;

/* Confines this process for good; nothing but descriptors is left. */
int profile_enter(struct error *err);

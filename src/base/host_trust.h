/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_trust.h - the file with the authorities that this host trusts
 */
#pragma once

/* For reading; -1: the host has none. */
int host_trust_open(void);

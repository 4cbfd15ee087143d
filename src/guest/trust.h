/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - programs of the guest trust the authority of their sandbox
 *
 * It is added to the template's own bundle, which most programs read without
 * being told; those that bring their own list are told by variables. The disk
 * is the sandbox's, so the bundle is changed and not covered: a mount would
 * make update-ca-certificates fail, which a guest may want to run.
 */
#pragma once

#include <stddef.h>

/* The authority alone, for what adds one to a list of its own. */
#define TRUST_FILE "/run/bawn/ca.crt"
/* Where Java finds a list, if the template has none for it. */
#define TRUST_JAVA_FILE "/run/bawn/cacerts"
/* Ours is the last of a bundle and begins like this. */
#define TRUST_HEADING "# bawn: the authority of this sandbox\n"

/*
 * pem is trusted from now on, and no other authority of a sandbox; "" is none.
 * What cannot be written is logged. root stands before every path ("").
 */
void trust_install(const char *root, const char *pem);
/*
 * For a template without a list of authorities: it gets this one, which is the
 * host's. Any other keeps what it has.
 */
void trust_provide(const char *root, const void *list, size_t len);
/* The part of Java's list that needs no authority: before there is haste. */
void trust_java_prepare(const char *root);

struct trust_variable {
	const char *name, *value;
};

#define TRUST_VARIABLES 12

/* For the environment of programs; returns how many. Values are static. */
unsigned trust_variables(const char *root,
			 struct trust_variable out[TRUST_VARIABLES]);

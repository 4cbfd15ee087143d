/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.h - the certificate authority of a sandbox, made when it is missing
 */
#pragma once

struct child;
struct error;
struct sandbox;

/*
 * For a new sandbox: begins to make it, beside whatever else its creation does.
 * What fails is done again by authority_ensure(), which says why.
 */
void authority_begin(const struct sandbox *sandbox, struct child *child);
void authority_wait(struct child *child);
/*
 * The certificate (PEM), which the caller frees. The key lies beside it in the
 * sandbox's folder `net` and never comes here.
 */
char *authority_ensure(const struct sandbox *sandbox, struct error *err);

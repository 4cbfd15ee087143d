/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.h - the certificate authority of a sandbox, made when it is missing
 */
#pragma once

struct error;
struct sandbox;

/*
 * The certificate (PEM), which the caller frees. The key lies beside it in the
 * sandbox's folder `net` and never comes here.
 */
char *authority_ensure(const struct sandbox *sandbox, struct error *err);

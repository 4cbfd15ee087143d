/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_internal.h - what the parts of the guest's trust share
 *
 * trust.c       bundles, and variables that name them
 * trust_java.c  the same for Java, which reads no bundle
 */
#pragma once

/* Only a plain file, and without waiting for it; -1 and errno. */
int trust_open_file(const char *root, const char *path, int flags);
/* The n-th place where a bundle may be; NULL: there is no further one. */
const char *trust_bundle_place(unsigned n);
/* Where the template has its list; NULL: it has none. */
const char *trust_find_bundle(const char *root);

/* trust_java.c; pem is the authority. */
void trust_java_install(const char *root, const char *pem);

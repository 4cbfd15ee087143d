/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oci_spec.h - where in a container's settings something can be added
 *
 * The settings (config.json of an OCI bundle, or the process alone that an
 * exec has) are not understood but walked through: what is found are the
 * places where a list ends, so that all the rest stays as it is, byte by byte.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCI_SPEC_BYTES_MAX (8u * 1024 * 1024)
#define OCI_SPEC_PATH_MAX 4096u
#define OCI_SPEC_NAMES_MAX 32u

enum oci_spec_kind {
	OCI_SPEC_CONTAINER,
	OCI_SPEC_PROCESS, /* of one that runs already */
};

struct oci_spec_list {
	size_t end; /* of its closing bracket; 0: there is no such list */
	bool empty;
};

struct oci_spec {
	struct oci_spec_list env, mounts;
	uint32_t is_set;              /* a bit for each of the names */
	char root[OCI_SPEC_PATH_MAX]; /* "": none, or one we do not read */
};

/*
 * names: of variables, NULL is the end; at most OCI_SPEC_NAMES_MAX. -1: this is
 * not JSON of the form that was expected.
 */
int oci_spec_find(const char *text, size_t len, enum oci_spec_kind kind,
		  const char *const *names, struct oci_spec *out);

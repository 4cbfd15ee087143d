/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_edit.h - what is added to a container's settings, and where they are
 *
 * All of it is pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "guest/oci_spec.h"

struct runtime_call {
	enum oci_spec_kind kind;
	const char *path; /* of the bundle's folder, or of the process's file */
};

/* False: this call of runc makes no process, or does not say where it is. */
bool runtime_call_read(char *const *argv, struct runtime_call *out);

struct runtime_mount {
	const char *source, *destination;
};

struct runtime_additions {
	const char *const *names;  /* of variables; NULL is the end */
	const char *const *values; /* as many */
	const struct runtime_mount *mounts;
	size_t mount_count; /* a process has none */
};

/*
 * The settings with variables that are not set yet, and with mounts. -1: they
 * are not understood, or a path cannot stand in them as it is.
 */
int runtime_edit(const char *text, size_t len, const struct oci_spec *spec,
		 const struct runtime_additions *additions, struct buffer *out);

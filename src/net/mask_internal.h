/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_internal.h - between mask.c and mask_forms.c
 */
#pragma once

#include <stdbool.h>

#include "net/mask.h"

#define MASK_FORM_COUNT 15

struct mask_form {
	const uint8_t *bytes; /* in forms->memory */
	size_t len;
};

struct mask_forms {
	struct secret *memory; /* owned */
	size_t count, longest;
	struct mask_form list[MASK_FORM_COUNT];
	bool starts[256]; /* a form begins with this byte */
};

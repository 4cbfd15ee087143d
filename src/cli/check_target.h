/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_target.h - where a connection would go, as it is typed
 *
 *	HOST[:PORT][/PATH], http://..., https://...
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>

#include "wire/authority.h"

struct error;

struct check_target {
	struct authority authority; /* its port is never 0 */
	bool is_encrypted;          /* https, or no word of it on port 443 */
	const char *path;           /* borrowed; NULL: none given */
};

int check_target_parse(const char *text, struct check_target *target,
		       struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.h - one request to the launcher of a running sandbox
 */
#pragma once

#include <jansson.h>

struct error;
struct sandbox;

/*
 * The answer, which is the caller's; takes the reference. err->code ENOENT or
 * ECONNREFUSED: there is none; else its own.
 */
json_t *launcher_call(const struct sandbox *sandbox, json_t *request,
		      struct error *err);
/* The same where nothing but success counts. */
int launcher_ask(const struct sandbox *sandbox, json_t *request,
		 struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.h - one request to the launcher of a running sandbox
 */
#pragma once

#include <jansson.h>

struct error;
struct sandbox;

/*
 * Takes the reference. err->code ENOENT or ECONNREFUSED: there is none; else
 * its own.
 */
int launcher_ask(const struct sandbox *sandbox, json_t *request,
		 struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_url.h - where a registry sends us: what is followed, and what of
 * the login goes along
 */
#pragma once

#include <stdbool.h>

#include "image/http.h"

struct error;

/*
 * Where `location` (absolute or relative) leads from the address `from`.
 * https always; plain http only from plain http, and only to this machine;
 * nothing else, and no address with a login in it. same_origin: scheme, host
 * and port are the same, so that a credential may go along.
 */
int registry_url_join(const char *from, const char *location,
		      char to[HTTP_URL_MAX], bool *same_origin,
		      struct error *err);
/* Adds "key=value" to the query, escaped. */
int registry_url_add(char url[HTTP_URL_MAX], const char *key, const char *value,
		     struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_config.h - policy in the shape of proxy-config.json
 *
 *	{"policy": "allow|deny", "network": {"allowedDomains": [],
 *	 "blockedDomains": [], "blockCIDR": []}}
 *
 * The shape has no methods and no paths. What it cannot say is left out when it
 * allows and widened when it denies, so that nothing is opened by the way
 * through a file. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct error;

#define PROXY_CONFIG_MAX (256u * 1024)
#define PROXY_CONFIG_LIST_MAX 10000

/*
 * Policy text (bawn-policy(5)) that means the same. Strict: an unknown key
 * could be one that forbids something, so it is an error.
 */
int proxy_config_read(const char *text, size_t len, struct buffer *policy,
		      struct error *err);

/* An empty file of this default verdict. Caller owns it. */
json_t *proxy_config_new(bool allow);
/* Adds the rules of a policy text; lines that are no rules are passed over. */
void proxy_config_add(json_t *config, const char *text, size_t len);

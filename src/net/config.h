/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - what the launcher tells bawn-net, at the start and later
 *
 * One JSON object; unknown keys are errors:
 *   "policy": [{"scope", "name", "text"}]   sources of policy.h, in order
 *   "preset": NAME, "ask_ms": N             0: nobody is asked
 *   "resolver": {"servers": [ADDRESS or ADDRESS:PORT],
 *                "hosts": [[NAME, ADDRESS]]}
 *   "proxy": {"http": URL|null, "https": URL|null, "no_proxy": TEXT|null}
 *   "addresses": [the host's own], "published": [{"id", "port"}],
 *   "sockets": [paths in the guest]
 * and at the start also
 *   "sandbox": NAME, "marker": HEX|null, "next_marker": HEX, "uid": N,
 *   "ca": {"certificate": PEM, "key": PEM} or null or left out
 *
 * A config is read whole or not at all, and never changed afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/hosts_table.h"
#include "net/proxy_url.h"
#include "proto/net_messages.h"

struct error;
struct policy;

#define CONFIG_BYTES_MAX (64u * 1024 * 1024)
#define CONFIG_PUBLISHED_MAX 256

enum config_kind {
	CONFIG_START, /* with what never changes */
	CONFIG_CHANGE,
};

struct config {
	struct policy *policy; /* owned */
	uint32_t ask_ms;
	char *servers; /* owned: for c-ares; "" when there are none */
	struct hosts_table hosts;
	struct proxy_url http_proxy, https_proxy;
	bool has_http_proxy, has_https_proxy;
	char *no_proxy; /* owned; may be NULL */
	struct {
		uint32_t id;
		uint16_t port;
	} published[CONFIG_PUBLISHED_MAX];
	size_t published_count;
	char *sockets[NET_SOCKETS_MAX]; /* owned: paths in the guest */
	size_t socket_count;

	/* CONFIG_START */
	char *sandbox; /* owned */
	bool has_marker;
	uint8_t marker[NET_MARKER_BYTES], next_marker[NET_MARKER_BYTES];
	uid_t uid; /* 0: none given */
	/* owned; NULL: nothing can be intercepted */
	char *ca_certificate, *ca_key;
};

/* Pure. NULL and err when it is refused. */
struct config *config_parse(const void *bytes, size_t len,
			    enum config_kind kind, struct error *err);
/* All of the file, from its begin; fd stays open. */
struct config *config_read(int fd, enum config_kind kind, struct error *err);
void config_free(struct config *config);
/* Wipes the authority's key: it is where it is needed. */
void config_forget_key(struct config *config);

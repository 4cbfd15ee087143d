/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.h - what the CLI may ask (PROTOCOL.md §5)
 */
#pragma once

#include <jansson.h>

#include "supervisor/client.h"
#include "supervisor/session.h"

struct error;
struct sandbox;

extern const struct clients_ops requests_ops;

/* Pure. The request points into json, which must outlive it. */
int requests_parse_exec(json_t *json, struct session_request *request,
			struct error *err);

/* The sandbox's life went on: who waited for that gets an answer. */
void requests_life_changed(struct sandbox *sandbox);
void requests_session_started(struct sandbox *sandbox, struct session *session,
			      struct client *opener,
			      const struct message_session_started *reply);
/* The machine of a checkpoint runs again; the copy is still being made. */
void requests_went_on(struct sandbox *sandbox);
/* A snapshot was taken; or why not. */
void requests_saved(struct sandbox *sandbox, const char *why);
void requests_stats_arrived(struct sandbox *sandbox);

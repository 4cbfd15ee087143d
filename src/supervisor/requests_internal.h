/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests_internal.h - between requests.c and requests_json.c
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct message_session_started;
struct message_stats;
struct sandbox;

/* "user", "folder", "exec", "other" */
const char *requests_stage_name(uint32_t stage);
const char *requests_stage_text(const struct message_session_started *reply);
json_t *requests_stats_json(const struct message_stats *stats);
/* The answer to `checkpoint`: its marker, and how long the machine stood. */
json_t *requests_saved_json(const struct sandbox *sandbox);
/* The answer to `wait` when a warm image was made: with its marker. */
json_t *requests_image_json(const struct sandbox *sandbox);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_answer.h - is it Docker that answers on a Unix socket?
 *
 * Whoever may speak to a Docker daemon is root on its host. A path says nothing
 * about what is behind it, so the socket is asked: Docker, and Podman where it
 * speaks Docker's language, answer DOCKER_ANSWER_QUESTION with headers that
 * nobody else has. Other servers answer something else, or close. Pure.
 */
#pragma once

#include <stddef.h>

#define DOCKER_ANSWER_QUESTION "GET /_ping HTTP/1.1\r\nHost: docker\r\n\r\n"
#define DOCKER_ANSWER_MAX 16384

enum docker_answer {
	DOCKER_ANSWER_MORE,  /* it cannot be told yet */
	DOCKER_ANSWER_OTHER, /* something else answers */
	/* Docker or Podman; also a head that does not end within the bound */
	DOCKER_ANSWER_DOCKER,
};

/* bytes: all that came so far. */
enum docker_answer docker_answer_read(const void *bytes, size_t len);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - one repository of one registry: requests that succeed in the
 * end, or say why not
 *
 * Logins and tokens, redirects, repetition after a pause, and going on where a
 * connection broke are all here. A credential goes to the registry that it is
 * for, and to the token server that this one names; a redirect to another
 * host goes without.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/http.h"
#include "image/registry_answer.h"
#include "oci/docker_config.h"
#include "oci/reference.h"

struct registry_settings {
	struct http_limits limits;
	unsigned attempts;    /* without progress, before we give up */
	unsigned back_off_ms; /* the first pause; each next is twice as long */
	unsigned parallel;
};

struct registry_place {
	char host[REFERENCE_HOST_MAX];
	bool http; /* plain http was asked for; else it is found out */
	char repository[2 * REFERENCE_REPOSITORY_MAX];
	struct login login;
	char ca[1024]; /* "": the system's */
};

enum registry_verdict {
	REGISTRY_PENDING,
	REGISTRY_DONE,
	REGISTRY_UNREACHABLE, /* nobody there, or no way there */
	REGISTRY_DENIED,
	REGISTRY_MISSING,
	REGISTRY_FAILED,
};

struct registry;
struct registry_call;

/* Where the bytes of an answer go. */
struct registry_sink {
	/* Bytes that are there already: the answer may go on after them. */
	uint64_t (*have)(void *ctx);
	/* The bytes that come now begin at offset: 0, or what have() said. */
	int (*begin)(void *ctx, uint64_t offset, struct error *err);
	int (*data)(void *ctx, const void *bytes, size_t len,
		    struct error *err);
	/* All came: 0 good, 1 not what it should be (again), -1 hopeless. */
	int (*complete)(void *ctx, struct error *err);
};

enum registry_call_state {
	REGISTRY_CALL_WAITING, /* until wake_ms */
	REGISTRY_CALL_RUNNING,
	REGISTRY_CALL_OVER,
};

struct registry_call {
	/* what is wanted */
	const char *method;
	char url[HTTP_URL_MAX]; /* registry_call_to() or a location */
	const char *const *accept;
	const char *content_type;
	const void *body;
	int body_fd; /* -1: none */
	uint64_t body_len;
	bool small;
	bool missing_is_fine;             /* 404 is an answer too */
	bool once;                        /* a failure is not tried again */
	const struct registry_sink *sink; /* or NULL */
	void *ctx;
	/* what came of it */
	enum registry_verdict verdict;
	struct error error;
	struct http_response response; /* of a good one */
	uint64_t sent;                 /* bytes of the body */
	/* private */
	struct registry *registry;
	enum registry_call_state state;
	char at[HTTP_URL_MAX]; /* where we are: url, or a redirect from it */
	bool trusted;          /* the login goes along */
	bool begun;
	unsigned attempts, total_attempts, redirects, logins;
	unsigned token_number;
	uint64_t progress; /* bytes at the last attempt */
	uint64_t wake_ms;
	uint64_t received;
};

/* action is "pull" or "pull,push". */
struct registry *registry_new(const struct registry_place *place,
			      const struct registry_settings *settings,
			      const char *action, struct error *err);
void registry_free(struct registry *registry);
const char *registry_host(const struct registry *registry);

/* A request to "/v2/REPOSITORY/" and what the format says. */
void registry_call_init(struct registry *registry, struct registry_call *call,
			const char *method, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Makes a location that an answer gave the call's address. */
int registry_call_to(struct registry *registry, struct registry_call *call,
		     const char *location, struct error *err);

typedef void registry_tick_fn(void *ctx);

/*
 * Runs all, some at a time; the first that fails ends the others, and its
 * error is the result. tick (may be NULL) is called often.
 */
int registry_run(struct registry *registry, struct registry_call *calls,
		 size_t count, registry_tick_fn *tick, void *ctx,
		 struct error *err);
/* The verdict on the last run: of the call that failed. */
enum registry_verdict registry_verdict(const struct registry *registry);

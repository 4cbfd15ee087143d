/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - bawn-layers, as far as bawn-net knows it
 *
 * It keeps layers of images for all sandboxes (src/layers/server.h). The
 * launcher starts it when it is first needed; without it nothing is kept, and
 * everything else goes on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "net/deadline.h"
#include "wire/blob_path.h"

struct gate;
struct layer_ask;
struct target;

#define LAYERS_REGISTRY_SIZE (sizeof("https://") + AUTHORITY_TEXT_SIZE)
#define LAYERS_TIES 32
#define LAYERS_TIE_TARGET_MAX 4096

enum layer_answer {
	LAYER_NONE, /* neither */
	LAYER_HAVE, /* a file to read */
	LAYER_WANT, /* a pipe to write it to */
};

/* Takes fd. */
typedef void layer_fn(struct layer_ask *ask, enum layer_answer answer, int fd,
		      uint64_t size);

struct layer_ask {
	layer_fn *fn;
	char registry[LAYERS_REGISTRY_SIZE]; /* where it is to come from */
	char hex[BLOB_HEX];

	struct list link; /* private, like all below */
	struct layers *layers;
	struct deadline deadline;
	uint32_t id; /* 0: nobody was told yet */
};

/* Where a registry said that a layer is. */
struct layers_tie {
	char *target; /* owned: path and query; NULL: none */
	char host[HOSTNAME_MAX + 1];
	uint16_t port;
	char registry[LAYERS_REGISTRY_SIZE];
	char hex[BLOB_HEX];
};

enum layers_state {
	LAYERS_UNASKED, /* the launcher would start it */
	LAYERS_ASKED,   /* it does */
	LAYERS_THERE,
	LAYERS_OFF, /* there is none */
};

struct layers {
	struct gate *gate;
	enum layers_state state;
	bool no_heads;        /* a registry knows no HEAD: nothing is served */
	struct source source; /* owns its descriptor */
	struct list asks;
	uint32_t last_id;
	unsigned deaths;
	struct layers_tie ties[LAYERS_TIES];
	unsigned next_tie;
};

void layers_init(struct layers *layers, struct gate *gate);
void layers_release(struct layers *layers);
/* The launcher's answer; takes fd, -1: there is none. */
void layers_use(struct layers *layers, int fd);

void layer_ask_init(struct layer_ask *ask, layer_fn *fn);
/* Of registry and hex; fn is called later, not by this. -1: never. */
int layers_ask(struct layers *layers, struct layer_ask *ask);
/* Harmless when nothing was asked. */
void layer_ask_cancel(struct layer_ask *ask);

/* Remembers a redirect, for a while. */
void layers_tie(struct layers *layers, const struct layer_ask *ask,
		const struct blob_redirect *redirect);
/* What an earlier redirect said about this; NULL: nothing. */
const struct layers_tie *layers_tied(const struct layers *layers,
				     const struct target *target,
				     const char *path, const char *query);

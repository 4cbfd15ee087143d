/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rings.h - the files port's bytes, in memory that both sides have (PROTOCOL.md
 * §8)
 *
 * What passes through a virtio port wakes QEMU's main thread twice and the
 * guest's kernel once more. Once both sides have said so on the port, what
 * would follow there lies in this memory instead, a ring for each direction;
 * the guest announces it at a bell that wakes the host's process itself, and
 * looks for answers a while before it sleeps. A sleeper is woken through the
 * port.
 *
 * Each side keeps its own positions to itself and only tells them: nothing that
 * it reads here can lead it outside of a ring. Positions count bytes and wrap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RINGS_DEVICE 10u         /* on the guest's PCI bus */
#define RINGS_BYTES (512u << 10) /* a PCI resource: 2^n */
#define RINGS_TO_HOST_BYTES (128u << 10)
#define RINGS_TO_GUEST_BYTES (256u << 10)
#define RINGS_BELL_PEER 1u /* whom the guest's bell is of */

enum rings_side {
	RINGS_GUEST,
	RINGS_HOST,
};

/* What a side that sleeps wants to be woken for. */
enum rings_sleep {
	RINGS_AWAKE = 0,
	RINGS_FOR_BYTES = 1,
	RINGS_FOR_ROOM = 2, /* too */
};

/* Written by one side, read by the other; a page of its own. */
struct rings_words {
	uint32_t written; /* its bytes, so far */
	uint32_t read;    /* the other's bytes, so far */
	uint32_t sleeps;  /* enum rings_sleep */
};

struct rings {
	struct rings_words *mine; /* NULL: there is no such memory */
	const struct rings_words *theirs;
	uint8_t *out;
	const uint8_t *in;
	uint32_t out_bytes, in_bytes; /* of the rings */
	uint32_t written, read;
};

/* memory: RINGS_BYTES, borrowed. */
void rings_init(struct rings *rings, enum rings_side side, void *memory);
/* Nothing is under way in the direction from here. Where it begins. */
uint32_t rings_begin_out(struct rings *rings);
/* So the other side says. */
void rings_begin_in(struct rings *rings, uint32_t start);
/* As many as there is room for; they are there when it returns. */
size_t rings_write(struct rings *rings, const void *bytes, size_t len);
/* As many as there are; -1: more than fit, so the other side lies. */
long rings_read(struct rings *rings, void *bytes, size_t len);
/* There is something to read, also when it makes no sense. */
bool rings_ready(const struct rings *rings);
/*
 * What this side sleeps for from now on. What the other side did before it
 * could know is seen by looking once more afterwards.
 */
void rings_sleep(struct rings *rings, enum rings_sleep wants);
/* After writing or reading: has the other side to be woken for that? */
bool rings_must_wake(const struct rings *rings, enum rings_sleep what);

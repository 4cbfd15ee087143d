/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h - raw mode, size, and the keys that let go
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/*
 * Raw mode until terminal_restore(), which also runs at exit and when a
 * signal ends the process.
 */
int terminal_raw(int fd, struct error *err);
/* Harmless when the mode was not changed. Safe in a signal handler. */
void terminal_restore(void);
/* What a full-screen program left switched on; for letting go of it. */
void terminal_reset_modes(int fd);
/* 24 by 80 when fd is no terminal or does not know. */
void terminal_size(int fd, uint16_t *rows, uint16_t *cols);

/*
 * Ctrl-P Ctrl-Q. Ctrl-P is held until the next key shows what was meant; a
 * key that is not Ctrl-Q brings it along.
 */
struct terminal_keys {
	bool held; /* Ctrl-P was typed and not passed on */
};

/*
 * Copies len typed bytes to out (room for len + 1) without what belongs to
 * the sequence. Returns true when the user let go; bytes after it are lost.
 */
bool terminal_keys_filter(struct terminal_keys *keys, const uint8_t *in,
			  size_t len, uint8_t *out, size_t *out_len);

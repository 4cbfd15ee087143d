/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h - why a turn of an agent failed
 *
 * Looked at only after an agent has said that it failed, by its exit code or
 * in its own result: a message that speaks about errors is no error.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum fault {
	FAULT_NONE,
	FAULT_OTHER,   /* the agent's own trouble: counts as an iteration */
	FAULT_AUTH,    /* the key is refused: stop at once */
	FAULT_RATE,    /* too many requests, or overloaded: wait */
	FAULT_NETWORK, /* nobody answers: wait */
	FAULT_MISSING, /* there is no such agent in the sandbox */

	FAULTS,
};

/* Pure: by what the agent said, in any case of letters. */
enum fault fault_of_text(const char *text, size_t len);
/* Pure: by a status of HTTP; FAULT_OTHER when that says nothing. */
enum fault fault_of_status(int status);
/* "retry after 30", "try again in 5 minutes": seconds, or 0. */
uint64_t fault_retry_seconds(const char *text, size_t len);
/* The same for texts that differ in numbers only; never 0. */
uint64_t fault_signature(const char *text, size_t len);
const char *fault_name(enum fault fault);

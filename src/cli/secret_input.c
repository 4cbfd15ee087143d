/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_input.c - where the value of a secret comes from
 */
#include "cli/secret_input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/secret.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "state/secret_store.h"

enum {
	CTRL_C = 0x03,
	CTRL_D = 0x04,
	CTRL_U = 0x15,
	BACKSPACE = 0x08,
	RUBOUT = 0x7f,
};

/* Room for one byte too many, so that it is noticed. */
#define INPUT_MAX (SECRET_STORE_VALUE_MAX + 2)

static struct secret *checked(const char *bytes, size_t len, struct error *err)
{
	if (secret_store_check_value(bytes, &len, err) < 0)
		return NULL;
	return secret_new(bytes, len, err);
}

static struct secret *read_stdin(struct error *err)
{
	AUTO(secret) struct secret *text = secret_new(NULL, INPUT_MAX, err);
	size_t len = 0;
	ssize_t n;

	if (!text)
		return NULL;
	while (len < INPUT_MAX &&
	       (n = read(0, secret_data(text) + len, INPUT_MAX - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			error_set(err, errno, "stdin");
			return NULL;
		}
		len += (size_t)n;
	}
	return checked(secret_text(text), len, err);
}

/* False: it is over, one way or the other. */
static bool take_key(uint8_t key, uint8_t *bytes, size_t *len, bool *given_up)
{
	switch (key) {
	case '\r':
	case '\n':
		return false;
	case CTRL_C:
	case CTRL_D:
		*given_up = true;
		return false;
	case CTRL_U:
		*len = 0;
		return true;
	case BACKSPACE:
	case RUBOUT:
		*len -= *len > 0;
		return true;
	default:
		if (*len < INPUT_MAX)
			bytes[(*len)++] = key;
		return true;
	}
}

static struct secret *ask(const char *name, struct error *err)
{
	AUTO(secret) struct secret *text = secret_new(NULL, INPUT_MAX, err);
	bool given_up = false;
	size_t len = 0;
	uint8_t key;
	ssize_t n;

	if (!text)
		return NULL;
	fprintf(stderr, "Secret for %s (not shown): ", name);
	fflush(stderr);
	if (terminal_raw(0, err) < 0)
		return NULL;
	do {
		n = read(0, &key, 1);
		given_up |= n == 0 || (n < 0 && errno != EINTR);
	} while (!given_up &&
		 (n < 0 || take_key(key, secret_data(text), &len, &given_up)));
	key = 0;
	terminal_restore();
	fprintf(stderr, "\n");
	if (given_up) {
		error_set(err, 0, "nothing was stored");
		return NULL;
	}
	return checked(secret_text(text), len, err);
}

static struct secret *of_variable(const char *variable, struct error *err)
{
	const char *value = getenv(variable);

	if (value)
		return checked(value, strlen(value), err);
	error_set(err, 0, "the environment has no %s", variable);
	return NULL;
}

struct secret *secret_input(const struct options *options, const char *name,
			    struct error *err)
{
	const char *variable = options_value(options, "env");

	if (variable)
		return of_variable(variable, err);
	if (options->word_count > 1)
		return read_stdin(err);
	if (isatty(0) && isatty(2))
		return ask(name, err);
	options_usage(err, "no terminal to ask on (`-` reads the secret from "
			   "stdin)");
	return NULL;
}

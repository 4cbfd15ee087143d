/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-ca: makes the authority of a sandbox and ends
 *
 * A program of its own, so that neither the command line nor the launcher ever
 * has the key in its memory, or OpenSSL to load. usage: bawn-ca SANDBOX
 * Descriptor 3 is the folder that gets ca.key and then ca.crt: who finds the
 * second one finds both.
 */
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "ca/authority.h"

#define FOLDER_FD 3

static int save(const struct authority_pair *pair, struct error *err)
{
	if (fileio_replace(FOLDER_FD, "ca.key", pair->key, strlen(pair->key),
			   0600, 0, err) < 0)
		return -1;
	return fileio_replace(FOLDER_FD, "ca.crt", pair->certificate,
			      strlen(pair->certificate), 0600, 0, err);
}

int main(int argc, char **argv)
{
	struct authority_pair pair;
	struct error err = { 0 };
	int result;

	log_identity("bawn-ca", argc == 2 ? argv[1] : NULL);
	if (argc != 2) {
		log_error("usage: bawn-ca SANDBOX");
		return 2;
	}
	result = authority_make(argv[1], &pair, &err);
	if (result == 0)
		result = save(&pair, &err);
	explicit_bzero(&pair, sizeof(pair));
	if (result < 0)
		log_error("%s", err.text);
	return result < 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-layers: keeps layers that sandboxes' engines pulled
 *
 * For a bawn-net, which reads a guest's bytes and has no path: this one has one
 * folder and no network, and believes no digest that it did not find itself.
 * usage: bawn-layers [BYTES], which all of them may have.
 * Descriptors: 2 errors, 3 bawn-net's packets (server.h), 4 the folder.
 * Sources: "bawn-net", "layer" (one for each that comes in).
 */
#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "layers/profile.h"
#include "layers/server.h"

enum {
	PEER_FD = 3,
	FOLDER_FD = 4,
};

#define MAX_BYTES (UINT64_C(10) << 30)

static int serve(int argc, char **argv, struct error *err)
{
	uint64_t max = MAX_BYTES;

	if (argc > 2 ||
	    (argc == 2 && text_to_u64(argv[1], 1, UINT64_MAX / 2, &max) < 0))
		return error_set(err, 0, "usage: bawn-layers [BYTES]");
	/* The seed is read from a file otherwise, later. */
	json_object_seed(0);
	if (profile_enter(FOLDER_FD, err) < 0)
		return -1;
	return server_run(PEER_FD, FOLDER_FD, max, err);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	int result;

	log_identity("bawn-layers", NULL);
	signal(SIGPIPE, SIG_IGN);
	umask(077);
	result = serve(argc, argv, &err);
	if (result < 0)
		log_error("%s", err.text);
	return result < 0;
}

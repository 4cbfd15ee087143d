/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_main.c - bawn-registry: images from registries, and to them; and
 * packages from npm registries
 *
 * Short-lived, one job for each run: it has the network, and bawn-image, which
 * unpacks, has none. Descriptors: 0 the order (order.h), 2 errors, 3 its
 * starter, which gives it files (talk.h), 4 where it describes an image. The
 * job npm writes the package to 4, what it is to 1, and bytes so far to 5.
 * Confined before the first connection.
 */
#include <inttypes.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/fetch.h"
#include "image/hash.h"
#include "image/npm.h"
#include "image/order.h"
#include "image/profile.h"
#include "image/push.h"

#define EXIT_USAGE 2
#define PACKAGE_FD 4
#define PROGRESS_FD 5

enum job {
	JOB_FETCH,
	JOB_PUSH,
};

/* Libraries read their files at the first use; this is that. */
static void warm_up(void)
{
	struct addrinfo *found = NULL;

	hash_free(hash_new("sha256"));
	if (getaddrinfo("localhost", NULL, NULL, &found) == 0)
		freeaddrinfo(found);
}

static int run(enum job job, const struct order *order, struct error *err)
{
	struct registry *registries[ORDER_PLACES_MAX] = { NULL };
	const char *action = job == JOB_PUSH ? "pull,push" : "pull";
	int result = 0;

	for (size_t i = 0; i < order->place_count && result == 0; i++) {
		registries[i] = registry_new(&order->places[i],
					     &order->settings, action, err);
		result = registries[i] ? 0 : -1;
	}
	warm_up();
	if (result == 0)
		result = profile_enter_network(err);
	if (result == 0)
		result = job == JOB_PUSH ? push_image(order, registries[0], err)
					 : fetch_image(order, registries, err);
	for (size_t i = 0; i < ORDER_PLACES_MAX; i++)
		registry_free(registries[i]);
	return result;
}

static int take_order(enum job job, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(ORDER_BYTES_MAX);
	AUTO_FREE struct order *order = xcalloc(1, sizeof(*order));
	int result;

	if (fileio_read_fd(STDIN_FILENO, &text, err) < 0)
		return error_prefix(err, "the order");
	result = order_parse(text.data, text.len, order, err);
	explicit_bzero(text.data, text.len);
	if (result == 0)
		result = run(job, order, err);
	order_release(order);
	return result;
}

static void show_bytes(uint64_t bytes)
{
	char line[32];

	/* nobody has to listen */
	text_format(line, sizeof(line), "%" PRIu64 "\n", bytes);
	if (write(PROGRESS_FD, line, strlen(line)) < 0)
		return;
}

static int fetch_package(const struct npm_order *order, struct error *err)
{
	const struct http_limits limits = { .connect_ms = 15000,
					    .stall_ms = 60000,
					    .small_ms = 60000 };
	struct http *http = http_new(&limits, order->ca, err);
	struct npm_manifest manifest;
	char line[NPM_VERSION_MAX + DIGEST_NAME_MAX + 64];
	int result = http ? 0 : -1;

	warm_up();
	if (result == 0)
		result = profile_enter_network(err);
	if (result == 0)
		result = npm_fetch(order, http, PACKAGE_FD, show_bytes,
				   &manifest, err);
	http_free(http);
	if (result < 0)
		return -1;
	text_format(line, sizeof(line),
		    "{\"version\":\"%s\",\"digest\":\"%s\"}\n",
		    manifest.version, manifest.digest);
	return fileio_write_all(STDOUT_FILENO, line, strlen(line), err);
}

static int take_npm_order(struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(NPM_ORDER_BYTES_MAX);
	AUTO_FREE struct npm_order *order = xcalloc(1, sizeof(*order));

	if (fileio_read_fd(STDIN_FILENO, &text, err) < 0 ||
	    npm_order_parse(text.data, text.len, order, err) < 0)
		return -1;
	return fetch_package(order, err);
}

int main(int argc, char **argv)
{
	static const char *const jobs[] = { "fetch", "push" };
	struct error err = { 0 };

	log_identity("bawn-registry", NULL);
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(jobs); i++) {
		if (strcmp(argv[1], jobs[i]) != 0)
			continue;
		if (take_order((enum job)i, &err) == 0)
			return 0;
		log_error("%s", err.text);
		return 1;
	}
	if (argc == 2 && strcmp(argv[1], "npm") == 0) {
		if (take_npm_order(&err) == 0)
			return 0;
		log_error("%s", err.text);
		return 1;
	}
	fputs("usage: bawn-registry fetch|push|npm <ORDER\n", stderr);
	return EXIT_USAGE;
}

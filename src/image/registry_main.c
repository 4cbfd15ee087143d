/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_main.c - bawn-registry: images from registries, and to them
 *
 * Short-lived, one job for each run: it has the network, and bawn-image, which
 * unpacks, has none. Descriptors: 0 the order (order.h), 2 errors, 3 its
 * starter, which gives it files (talk.h), 4 where it describes an image.
 * Confined before the first connection.
 */
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
#include "image/fetch.h"
#include "image/hash.h"
#include "image/order.h"
#include "image/profile.h"
#include "image/push.h"

#define EXIT_USAGE 2

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
	fputs("usage: bawn-registry fetch|push <ORDER\n", stderr);
	return EXIT_USAGE;
}

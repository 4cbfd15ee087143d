/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver.c - what the host's name servers say about a name
 */
#include "net/resolver.h"

#include <ares.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/error.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/mem.h"
#include "net/limit.h"

#define TRY_MS 2000
#define TRIES 3
#define UDP_BYTES 1232

/* A socket of c-ares, as long as it wants to be told about it. */
struct watch {
	struct source source;
	struct resolver *resolver;
	struct list link;
};

struct resolver {
	struct loop *loop;
	ares_channel channel;
	char *servers; /* owned; NULL: none can be asked */
	struct timer timer;
	struct list watches;
	struct list answered; /* lookups to be told in the next round */
	struct timer tell;
};

struct lookup {
	struct resolver *resolver;
	lookup_fn *fn; /* NULL: cancelled */
	void *ctx;
	struct list link; /* of answered */
	const char *why;
	size_t count;
	struct address addresses[LIMIT_CANDIDATES];
};

/* c-ares tells how long it can wait only when it is asked. */
static void set_timer(struct resolver *resolver)
{
	struct timeval left, *next;
	struct timeval longest = { .tv_sec = TRY_MS / 1000 };

	next = ares_timeout(resolver->channel, &longest, &left);
	if (list_empty(&resolver->watches))
		timer_stop(&resolver->timer);
	else
		timer_start(resolver->loop, &resolver->timer,
			    (uint64_t)next->tv_sec * 1000 +
				    (uint64_t)next->tv_usec / 1000 + 1);
}

static void on_timer(struct timer *timer)
{
	struct resolver *resolver = CONTAINER_OF(timer, struct resolver, timer);

	ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(resolver);
}

static void on_watch(struct source *source, uint32_t events)
{
	struct watch *watch = CONTAINER_OF(source, struct watch, source);
	struct resolver *resolver = watch->resolver;
	int fd = source->fd;
	bool in = events & (EPOLLIN | EPOLLHUP | EPOLLERR);

	ares_process_fd(resolver->channel, in ? fd : ARES_SOCKET_BAD,
			events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
	set_timer(resolver);
}

static struct watch *find_watch(struct resolver *resolver, int fd)
{
	LIST_FOR_EACH(node, &resolver->watches) {
		struct watch *watch = LIST_ENTRY(node, struct watch, link);

		if (watch->source.fd == fd)
			return watch;
	}
	return NULL;
}

static void unwatch(struct watch *watch)
{
	loop_del(&watch->source);
	list_remove(&watch->link);
	loop_defer_free(watch->resolver->loop, watch);
}

/* Before c-ares closes a socket it says so, with neither wish. */
static void on_wish(void *ctx, ares_socket_t fd, int readable, int writable)
{
	struct resolver *resolver = ctx;
	struct watch *watch = find_watch(resolver, fd);
	uint32_t events =
		(readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);

	if (!events) {
		if (watch)
			unwatch(watch);
		return;
	}
	if (watch) {
		loop_wait_for(&watch->source, events);
		return;
	}
	watch = xcalloc(1, sizeof(*watch));
	watch->resolver = resolver;
	watch->source = (struct source){ .name = "name server",
					 .fd = fd,
					 .events = events,
					 .on_event = on_watch };
	list_append(&resolver->watches, &watch->link);
	/* Failing that, its time runs out. */
	(void)loop_add(resolver->loop, &watch->source, NULL);
}

static void tell(struct lookup *lookup)
{
	list_remove(&lookup->link);
	if (lookup->fn)
		lookup->fn(lookup->ctx, lookup->addresses, lookup->count,
			   lookup->why);
	free(lookup);
}

static void on_tell(struct timer *timer)
{
	struct resolver *resolver = CONTAINER_OF(timer, struct resolver, tell);

	while (!list_empty(&resolver->answered))
		tell(LIST_ENTRY(resolver->answered.next, struct lookup, link));
}

static void answer(struct lookup *lookup, const char *why)
{
	struct resolver *resolver = lookup->resolver;

	lookup->why = why;
	list_append(&resolver->answered, &lookup->link);
	timer_start(resolver->loop, &resolver->tell, 0);
}

static bool address_of(const struct ares_addrinfo_node *node,
		       struct address *out)
{
	const struct sockaddr_in *v4 = (const void *)node->ai_addr;
	const struct sockaddr_in6 *v6 = (const void *)node->ai_addr;

	if (node->ai_family == AF_INET)
		*out = address_v4((const uint8_t *)&v4->sin_addr);
	else if (node->ai_family == AF_INET6)
		*out = address_v6((const uint8_t *)&v6->sin6_addr);
	else
		return false;
	return true;
}

static void add(struct lookup *lookup, const struct address *address)
{
	for (size_t i = 0; i < lookup->count; i++) {
		if (address_equal(&lookup->addresses[i], address))
			return;
	}
	if (lookup->count < LIMIT_CANDIDATES)
		lookup->addresses[lookup->count++] = *address;
}

/* The next of that family, or NULL. */
static const struct ares_addrinfo_node *
of_family(const struct ares_addrinfo_node *node, int family)
{
	while (node && node->ai_family != family)
		node = node->ai_next;
	return node;
}

static void take_turns(struct lookup *lookup, const struct ares_addrinfo *info)
{
	const struct ares_addrinfo_node *v6 = of_family(info->nodes, AF_INET6);
	const struct ares_addrinfo_node *v4 = of_family(info->nodes, AF_INET);
	struct address address;

	while (v6 || v4) {
		if (v6 && address_of(v6, &address))
			add(lookup, &address);
		if (v4 && address_of(v4, &address))
			add(lookup, &address);
		v6 = v6 ? of_family(v6->ai_next, AF_INET6) : NULL;
		v4 = v4 ? of_family(v4->ai_next, AF_INET) : NULL;
	}
}

static const char *reason_of(int status)
{
	switch (status) {
	case ARES_ENOTFOUND:
	case ARES_ENODATA:
		return "the name does not exist";
	case ARES_ETIMEOUT:
		return "no answer from the name servers";
	case ARES_ECANCELLED:
		return "the name servers changed";
	case ARES_ECONNREFUSED:
		return "the name servers cannot be reached";
	default:
		return "the name servers failed";
	}
}

static void on_answer(void *ctx, int status, int timeouts,
		      struct ares_addrinfo *info)
{
	struct lookup *lookup = ctx;

	if (status == ARES_SUCCESS)
		take_turns(lookup, info);
	ares_freeaddrinfo(info);
	/* The channel is going, and with it all that we could tell. */
	if (status == ARES_EDESTRUCTION) {
		free(lookup);
		return;
	}
	answer(lookup, lookup->count ? NULL : reason_of(status));
}

struct resolver *resolver_new(struct loop *loop, struct error *err)
{
	struct resolver *resolver = xcalloc(1, sizeof(*resolver));
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES |
			 ARES_FLAG_EDNS,
		.timeout = TRY_MS,
		.tries = TRIES,
		.ndots = 0,
		.ednspsz = UDP_BYTES,
		.lookups = (char *)(uintptr_t) "b",
		.sock_state_cb = on_wish,
		.sock_state_cb_data = resolver,
	};
	int status;

	resolver->loop = loop;
	resolver->timer =
		(struct timer){ .name = "name servers", .on_fire = on_timer };
	resolver->tell =
		(struct timer){ .name = "names found", .on_fire = on_tell };
	list_init(&resolver->watches);
	list_init(&resolver->answered);
	status = ares_init_options(&resolver->channel, &options,
				   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS |
					   ARES_OPT_TRIES | ARES_OPT_NDOTS |
					   ARES_OPT_EDNSPSZ | ARES_OPT_LOOKUPS |
					   ARES_OPT_SOCK_STATE_CB);
	if (status != ARES_SUCCESS) {
		free(resolver);
		error_set(err, 0, "resolver: %s", ares_strerror(status));
		return NULL;
	}
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	ares_destroy(resolver->channel);
	timer_stop(&resolver->timer);
	timer_stop(&resolver->tell);
	LIST_FOR_EACH(node, &resolver->answered)
		free(LIST_ENTRY(node, struct lookup, link));
	free(resolver->servers);
	free(resolver);
}

void resolver_use(struct resolver *resolver, const char *servers)
{
	if (resolver->servers && strcmp(resolver->servers, servers) == 0)
		return;
	free(resolver->servers);
	resolver->servers = NULL;
	/* c-ares cannot change servers under a question. */
	ares_cancel(resolver->channel);
	if (servers[0] && ares_set_servers_ports_csv(resolver->channel,
						     servers) == ARES_SUCCESS)
		resolver->servers = xstrdup(servers);
}

struct lookup *lookup_start(struct resolver *resolver, const char *name,
			    lookup_fn *fn, void *ctx)
{
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	struct lookup *lookup = xcalloc(1, sizeof(*lookup));

	lookup->resolver = resolver;
	lookup->fn = fn;
	lookup->ctx = ctx;
	list_init(&lookup->link);
	if (resolver->servers) {
		ares_getaddrinfo(resolver->channel, name, NULL, &hints,
				 on_answer, lookup);
		set_timer(resolver);
	} else {
		answer(lookup, "the host has no name server");
	}
	return lookup;
}

void lookup_cancel(struct lookup *lookup)
{
	if (lookup)
		lookup->fn = NULL;
}

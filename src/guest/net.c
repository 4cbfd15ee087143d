/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c - PID 1's side of the network: interface, rules, relay
 */
#include "guest/net.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "guest/net_link.h"
#include "guest/net_rules.h"
#include "guest/port.h"

#define PORT_WAIT_MS 2000
#define DEATHS_MAX 20
#define DEATHS_MS 60000
#define AGAIN_MS 3000

static _Noreturn void run_relay(const struct net *net, bool again)
{
	struct net_relay_start start = { .shared = net->shared,
					 .again = again };

	memcpy(start.fds, net->fds, sizeof(start.fds));
	start.fds[NET_RELAY_FD_LOG] =
		open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	net_relay_run(&start);
}

static void start_relay(struct net *net, bool again)
{
	net->pid = fork();
	if (net->pid == 0)
		run_relay(net, again);
	if (net->pid > 0)
		return;
	log_error("net relay: %s", strerror(errno));
	net->pid = 0;
	timer_start(net->loop, &net->again, AGAIN_MS);
}

/* -1 when there is nothing that a relay could do. */
static int set_up(struct error *err)
{
	return net_link_setup(err) || net_rules_set(err) ? -1 : 0;
}

static void on_again(struct timer *timer)
{
	struct net *net = CONTAINER_OF(timer, struct net, again);
	struct error err;

	if (set_up(&err))
		log_limited(LOG_LEVEL_ERROR, "network: %s", err.text);
	start_relay(net, true);
}

void net_start(struct net *net, struct loop *loop)
{
	struct error err;
	void *memory;

	net->loop = loop;
	net->again = (struct timer){ .name = "net relay", .on_fire = on_again };
	for (int i = 0; i < NET_RELAY_FDS; i++)
		net->fds[i] = -1;
	net->fds[NET_RELAY_FD_PORT] =
		port_find(NET_PORT_NAME, PORT_WAIT_MS, &err);
	if (net->fds[NET_RELAY_FD_PORT] < 0) {
		log_info("no network: %s", err.text);
		return;
	}
	if (set_up(&err)) {
		log_error("no network: %s", err.text);
		return;
	}
	memory = mmap(NULL, sizeof(*net->shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || net_relay_listen(net->fds)) {
		log_error("no network: %s", strerror(errno));
		return;
	}
	net->shared = memory;
	start_relay(net, false);
}

bool net_on_exit(struct net *net, pid_t pid)
{
	uint64_t now = loop_now_ms();

	if (pid != net->pid || !pid)
		return false;
	net->pid = 0;
	if (now - net->first_death_ms > DEATHS_MS) {
		net->first_death_ms = now;
		net->deaths = 0;
	}
	log_limited(LOG_LEVEL_WARN, "net relay: was killed: starting it");
	/* Somebody who does nothing else gets the machine only now and then. */
	timer_start(net->loop, &net->again,
		    ++net->deaths > DEATHS_MAX ? AGAIN_MS : 0);
	return true;
}

void net_prepare(struct net *net, const uint8_t marker[NET_MARKER_BYTES])
{
	if (net->shared)
		memcpy(net->shared->markers[NET_MARKER_PREPARED], marker,
		       NET_MARKER_BYTES);
}

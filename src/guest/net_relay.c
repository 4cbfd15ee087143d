/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_relay.c - the loop, the port, epochs
 *
 * Sources: the network port; listeners (TCP, loopback ports of the host, shared
 * Unix sockets); questions for names; connections, by edges. Timers: refuse,
 * pause, port again. System calls are dear under emulation: a round reads all
 * that is there, hands bytes from the port's buffer to the sockets, and writes
 * to the port at its end.
 *
 * The relay always reads the port, so that the host may stop reading it while
 * its answers are not taken: one of the two must.
 */
#include "guest/net_relay.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "guest/net_relay_internal.h"
#include "guest/net_rules.h"
#include "guest/pci_memory.h"
#include "guest/steady.h"

#define PORT_READ_BYTES 4096 /* what one read of the port can give */
/* Half of what the port holds: the host fills the rest in the meantime. */
#define READS_AT_ONCE 64
#define READS_PER_ROUND 2
#define WRITES_PER_ROUND 16
#define PORT_WRITE_BYTES (32u * 1024) /* of one request of the driver */
#define LOST_MS 50
#define FILES_MAX (2 * NET_STREAMS_MAX)

static const uint8_t zeros[NET_MARKER_BYTES];

static bool is_marker(const uint8_t marker[NET_MARKER_BYTES])
{
	return memcmp(marker, zeros, NET_MARKER_BYTES) != 0;
}

int net_relay_send(struct net_relay *relay, const struct net_message *message)
{
	uint8_t bytes[NET_MESSAGE_MAX];
	long len = net_message_encode(message, bytes, sizeof(bytes));

	return len < 0 ? -1 : mux_send_message(&relay->mux, bytes, (size_t)len);
}

uint32_t net_relay_next_stream(struct net_relay *relay)
{
	/* 2^31 of them: an epoch is over before. */
	relay->last_stream += 2;
	return relay->last_stream;
}

static void on_marker(void *ctx)
{
	/* Markers are found before the mux sees them. */
}

/* The last one stays good: its server may die before it was of use. */
static void note_marker(struct net_shared *shared,
			const uint8_t marker[NET_MARKER_BYTES])
{
	memcpy(shared->markers[NET_MARKER_LAST],
	       shared->markers[NET_MARKER_NEXT], NET_MARKER_BYTES);
	memcpy(shared->markers[NET_MARKER_NEXT], marker, NET_MARKER_BYTES);
}

static void welcome(struct net_relay *relay, const struct net_message *message)
{
	if (message->welcome.version != NET_VERSION) {
		log_limited(LOG_LEVEL_ERROR, "the host speaks version %u",
			    message->welcome.version);
		return;
	}
	note_marker(relay->shared, message->welcome.next_marker);
	relay->state = NET_SERVED;
	net_accept_update(relay);
}

static void forwards(struct net_relay *relay, const struct net_message *message)
{
	const struct net_forwards *wanted = &message->forwards;
	struct error err;

	/* Every new server says it, and every wake has a new server. */
	if (relay->forwards_known && wanted->count == relay->forwards.count &&
	    !memcmp(wanted->ports, relay->forwards.ports,
		    wanted->count * sizeof(wanted->ports[0])))
		return;
	relay->forwards_known = true;
	relay->forwards = *wanted;
	if (net_rules_forward(wanted->ports, wanted->count, &err)) {
		log_limited(LOG_LEVEL_ERROR, "forwards: %s", err.text);
		relay->forwards_known = false;
	}
}

static void on_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct net_relay *relay = ctx;
	struct net_message message;

	if (relay->state == NET_DEAF)
		return;
	if (net_message_decode(payload, len, &message)) {
		net_relay_cut(relay, "a broken message");
		return;
	}
	if ((message.type == NET_WELCOME) != (relay->state == NET_GREETING)) {
		net_relay_cut(relay, "no WELCOME, or a second one");
		return;
	}
	switch (message.type) {
	case NET_WELCOME:
		welcome(relay, &message);
		break;
	case NET_CONNECT:
		net_conn_connect(relay, &message.connect);
		break;
	case NET_OPENED:
		break; /* the program was let in long ago */
	case NET_DNS_ANSWER:
		net_dns_answer(relay, &message.dns);
		break;
	case NET_FORWARDS:
		forwards(relay, &message);
		break;
	case NET_SOCKETS:
		net_sockets_set(relay, &message.sockets);
		break;
	default:
		net_relay_cut(relay, "a message that is the guest's");
		break;
	}
}

static void on_stream(void *ctx, struct mux_stream *stream)
{
	net_conn_on_stream(stream);
}

static size_t on_data(void *ctx, struct mux_stream *stream,
		      const uint8_t *bytes, size_t len)
{
	return net_conn_on_data(stream, bytes, len);
}

static const struct mux_ops mux_ops = {
	.on_message = on_message,
	.on_stream = on_stream,
	.on_marker = on_marker,
	.on_data = on_data,
};

static void begin_mux(struct net_relay *relay)
{
	mux_init(&relay->mux, &mux_net_limits, &mux_ops, relay);
	if (relay->slots)
		mux_read_slots(&relay->mux, relay->slots);
}

/* Everything of the old epoch is gone, also what was about to be sent. */
static void forget(struct net_relay *relay)
{
	net_conn_reset_all(relay);
	net_dns_forget(relay);
	mux_release(&relay->mux);
	begin_mux(relay);
	relay->out_len = relay->out_sent = 0;
	relay->cut_left = 0;
	relay->call_due = false;
	relay->last_stream = UINT32_MAX; /* the next one is 1 */
}

void net_relay_cut(struct net_relay *relay, const char *why)
{
	log_limited(LOG_LEVEL_WARN, "the host sent %s", why);
	relay->state = NET_DEAF;
	net_accept_update(relay);
}

/*
 * The server has to meet something that is no frame, and to begin anew; if it
 * has done so already, it waits for an echo and answers the call.
 */
static void begin_deaf(struct net_relay *relay)
{
	uint8_t word[CALL_WORD_BYTES];

	forget(relay);
	if (getrandom(word, sizeof(word), 0) != (ssize_t)sizeof(word))
		_exit(1); /* cannot be; PID 1 starts another */
	call_begin(&relay->call, word);
	relay->state = NET_DEAF;
	relay->cut_left = NET_CUT_BYTES;
	relay->call_due = true;
}

static void say_hello(struct net_relay *relay)
{
	struct net_message hello = { .type = NET_HELLO,
				     .hello = { .version = NET_VERSION } };

	if (relay->slots)
		hello.hello.features = NET_FEATURE_SLOTS;
	relay->state = NET_GREETING;
	net_relay_send(relay, &hello); /* cannot fail: nothing waits */
	net_accept_update(relay);
}

static void begin_epoch(struct net_relay *relay,
			const uint8_t marker[NET_MARKER_BYTES])
{
	forget(relay);
	net_input_reset(&relay->in);
	mux_send_marker(&relay->mux, marker);
	say_hello(relay);
}

/*
 * Whatever comes and is no answer may be the marker of a server that has come
 * too late to hear the call.
 */
static void listen_for_answer(struct net_relay *relay)
{
	uint8_t marker[NET_MARKER_BYTES];
	size_t len;
	const uint8_t *bytes = net_input_take(&relay->in, &len);

	if (call_answered(&relay->call, bytes, len, marker)) {
		note_marker(relay->shared, marker);
		begin_epoch(relay, marker);
	} else {
		relay->call_due = true;
	}
}

static void use_input(struct net_relay *relay)
{
	size_t len;
	const uint8_t *bytes = net_input_take(&relay->in, &len);
	struct error err;

	if (mux_input(&relay->mux, bytes, len, &err))
		net_relay_cut(relay, err.text);
	net_conn_flush(relay);
	if (relay->state == NET_DEAF)
		begin_deaf(relay);
	else
		net_conn_bound_memory(relay);
}

/* The host's end is closed: it would be reported for ever. */
static void lost(struct net_relay *relay)
{
	loop_del(&relay->port);
	timer_start(relay->loop, &relay->port_again, LOST_MS);
}

static void on_port_again(struct timer *timer)
{
	struct net_relay *relay =
		CONTAINER_OF(timer, struct net_relay, port_again);
	struct error err;

	if (loop_add(relay->loop, &relay->port, &err))
		_exit(1);
}

/* The driver gives one buffer to each piece: many of them with one call. */
static ssize_t read_port(struct net_relay *relay)
{
	struct iovec iov[READS_AT_ONCE];
	size_t room;
	uint8_t *to = net_input_room(&relay->in, &room);
	ssize_t n;

	for (int i = 0; i < READS_AT_ONCE; i++)
		iov[i] = (struct iovec){ to + (size_t)i * PORT_READ_BYTES,
					 PORT_READ_BYTES };
	n = readv(relay->port.fd, iov, READS_AT_ONCE);
	if (n > 0)
		net_input_added(&relay->in, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		lost(relay);
	return n;
}

static unsigned known_markers(const struct net_shared *shared,
			      uint8_t known[NET_MARKERS][NET_MARKER_BYTES])
{
	unsigned count = 0;

	for (int i = 0; i < NET_MARKERS; i++) {
		if (is_marker(shared->markers[i]))
			memcpy(known[count++], shared->markers[i],
			       NET_MARKER_BYTES);
	}
	return count;
}

/* True when there may be more. */
static bool receive_some(struct net_relay *relay)
{
	uint8_t known[NET_MARKERS][NET_MARKER_BYTES];
	uint8_t marker[NET_MARKER_BYTES];
	unsigned count = known_markers(relay->shared, known);
	ssize_t n = read_port(relay);

	if (n <= 0)
		return false;
	if (relay->state == NET_DEAF) {
		listen_for_answer(relay);
		return n == READS_AT_ONCE * PORT_READ_BYTES;
	}
	if (!net_input_marker(&relay->in, known, count, marker)) {
		use_input(relay);
		/*
		 * WELCOME may have come together with the marker it tells,
		 * which was no frame. By itself it ends in that marker, too.
		 */
		count = known_markers(relay->shared, known);
		if (relay->state != NET_DEAF ||
		    !net_input_marker(&relay->in, known, count, marker))
			return n == READS_AT_ONCE * PORT_READ_BYTES;
	}
	begin_epoch(relay, marker);
	return false;
}

static void receive(struct net_relay *relay)
{
	for (int i = 0; i < READS_PER_ROUND && receive_some(relay); i++)
		;
}

static void refill(struct net_relay *relay)
{
	relay->out_sent = 0;
	if (relay->cut_left) {
		relay->out_len = relay->cut_left < PORT_WRITE_BYTES
					 ? relay->cut_left
					 : PORT_WRITE_BYTES;
		relay->cut_left -= relay->out_len;
		memset(relay->out, 0xff, relay->out_len);
	} else if (relay->call_due) {
		relay->out_len = CALL_BYTES;
		relay->call_due = false;
		call_encode(&relay->call, relay->out);
	} else {
		relay->out_len = mux_output_copy(&relay->mux, relay->out,
						 PORT_WRITE_BYTES);
	}
}

/* True when nothing is left to be written. */
static bool write_port(struct net_relay *relay)
{
	for (int i = 0; i < WRITES_PER_ROUND; i++) {
		ssize_t n;

		if (relay->out_sent == relay->out_len)
			refill(relay);
		if (!relay->out_len)
			return true;
		n = write(relay->port.fd, relay->out + relay->out_sent,
			  relay->out_len - relay->out_sent);
		/* A full queue is EAGAIN or, seen from inside, 0. */
		if (n <= 0)
			return false;
		relay->out_sent += (size_t)n;
	}
	return false;
}

static void flush(struct net_relay *relay)
{
	bool all = write_port(relay);

	loop_wait_for(&relay->port, EPOLLIN | (all ? 0U : EPOLLOUT));
	net_accept_update(relay);
}

static void on_port(struct source *source, uint32_t events)
{
	struct net_relay *relay = CONTAINER_OF(source, struct net_relay, port);

	if (events & EPOLLIN)
		receive(relay);
	else if (events & (EPOLLHUP | EPOLLERR))
		lost(relay);
	/* Output goes at the end of the round. */
}

static int prepare(struct net_relay *relay, const int fds[NET_RELAY_FDS])
{
	struct error err;

	relay->loop = loop_new(&err);
	if (!relay->loop) {
		log_error("%s", err.text);
		return -1;
	}
	list_init(&relay->conns);
	net_input_init(&relay->in, READS_AT_ONCE * PORT_READ_BYTES);
	relay->out = xmalloc(PORT_WRITE_BYTES);
	relay->port_again = (struct timer){ .name = "port again",
					    .on_fire = on_port_again };
	relay->port = (struct source){ .name = "network port",
				       .fd = fds[NET_RELAY_FD_PORT],
				       .events = EPOLLIN,
				       .on_event = on_port };
	net_sockets_init(relay);
	if (loop_add(relay->loop, &relay->port, &err)) {
		log_error("%s", err.text);
		return -1;
	}
	if (net_accept_start(relay, fds))
		return -1;
	return net_dns_start(relay, fds[NET_RELAY_FD_UDP]);
}

static void begin(struct net_relay *relay, bool again)
{
	uint8_t known[NET_MARKERS][NET_MARKER_BYTES];

	/* A HELLO is perhaps the second one: then the server begins anew. */
	if (again && known_markers(relay->shared, known))
		begin_deaf(relay);
	else
		say_hello(relay);
}

/*
 * Before every program: one that reads what we send it would take our place
 * with each packet, or spin on another CPU for the lock of its socket. So what
 * the port holds is passed on together, and then the readers run.
 */
static void take_precedence(void)
{
	struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first))
		log_debug("sched_setscheduler: %s", strerror(errno));
}

_Noreturn void net_relay_run(const struct net_relay_start *start)
{
	static struct net_relay relay;
	int fds[NET_RELAY_FDS];
	struct error err;

	memcpy(fds, start->fds, sizeof(fds));
	steady_keep(fds, NET_RELAY_FDS);
	log_to(fds[NET_RELAY_FD_LOG]);
	log_identity("bawn-net-relay", NULL);
	steady_begin("bawn-net-relay", FILES_MAX);
	take_precedence();
	relay.shared = start->shared;
	relay.last_stream = UINT32_MAX;
	relay.slots = pci_memory_map(SLOTS_DEVICE, SLOTS_BYTES, PROT_READ);
	begin_mux(&relay);
	if (prepare(&relay, fds))
		_exit(1);
	/* The first one comes when there is no rule for any port. */
	relay.forwards_known = !start->again;
	begin(&relay, start->again);
	do
		flush(&relay);
	while (!loop_step(relay.loop, -1, &err));
	log_error("%s", err.text);
	_exit(1);
}

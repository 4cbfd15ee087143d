/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - one connection of a guest to the host's ssh-agent
 *
 * The protocol has one request at a time and one answer for each, so there is
 * nothing to be held back and no loop of events.
 */
#include "ssh/filter.h"

#include <errno.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "wire/ssh_agent.h"

struct filter {
	int guest, agent; /* borrowed */
	const struct ssh_keys *allowed;
	uint8_t message[SSH_AGENT_HEAD + SSH_AGENT_MESSAGE_MAX];
	size_t len; /* with the head */
};

/* 1; 0 at the end, before the first byte; -1. */
static int read_all(int fd, uint8_t *bytes, size_t len, struct error *err)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, bytes + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, errno, "read");
		if (n == 0)
			return got ? error_set(err, 0, "cut off") : 0;
		got += (size_t)n;
	}
	return 1;
}

static int read_message(struct filter *filter, int fd, struct error *err)
{
	uint32_t len;
	int got = read_all(fd, filter->message, SSH_AGENT_HEAD, err);

	if (got <= 0)
		return got;
	len = ssh_agent_length(filter->message);
	if (!len)
		return error_set(err, 0, "a message of a bad length");
	got = read_all(fd, filter->message + SSH_AGENT_HEAD, len, err);
	if (got == 0)
		return error_set(err, 0, "cut off");
	filter->len = SSH_AGENT_HEAD + len;
	return got;
}

/* The request that is in message, or another one, and its answer there. */
static int ask(struct filter *filter, const void *request, size_t len,
	       struct error *err)
{
	int got;

	if (fileio_write_all(filter->agent, request, len, err) < 0)
		return -1;
	got = read_message(filter, filter->agent, err);
	return got > 0 ? 0 : error_prefix(err, "the agent");
}

static int refuse(struct filter *filter, struct error *err)
{
	return fileio_write_all(filter->guest, ssh_agent_failure,
				sizeof(ssh_agent_failure), err);
}

static int answer_list(struct filter *filter, struct error *err)
{
	static struct ssh_keys keys;
	AUTO_BUFFER struct buffer out =
		BUFFER_INIT(SSH_AGENT_HEAD + SSH_AGENT_MESSAGE_MAX);

	if (ask(filter, ssh_agent_question, sizeof(ssh_agent_question), err) <
	    0)
		return -1;
	if (ssh_agent_parse_keys(filter->message + SSH_AGENT_HEAD,
				 filter->len - SSH_AGENT_HEAD, &keys) < 0)
		return refuse(filter, err);
	ssh_agent_keep(&keys, filter->allowed);
	if (ssh_agent_encode_keys(&keys, &out) < 0)
		return refuse(filter, err);
	return fileio_write_all(filter->guest, out.data, out.len, err);
}

static int answer_sign(struct filter *filter, struct error *err)
{
	if (ask(filter, filter->message, filter->len, err) < 0)
		return -1;
	if (!ssh_agent_is_signature(filter->message + SSH_AGENT_HEAD,
				    filter->len - SSH_AGENT_HEAD))
		return refuse(filter, err);
	return fileio_write_all(filter->guest, filter->message, filter->len,
				err);
}

static int answer(struct filter *filter, struct error *err)
{
	switch (ssh_agent_request(filter->allowed,
				  filter->message + SSH_AGENT_HEAD,
				  filter->len - SSH_AGENT_HEAD)) {
	case SSH_AGENT_LIST:
		return answer_list(filter, err);
	case SSH_AGENT_SIGN:
		return answer_sign(filter, err);
	case SSH_AGENT_REFUSED:
		break;
	}
	return refuse(filter, err);
}

int filter_serve(int guest, int agent, const struct ssh_keys *allowed,
		 struct error *err)
{
	static struct filter filter;
	int got;

	filter.guest = guest;
	filter.agent = agent;
	filter.allowed = allowed;
	while ((got = read_message(&filter, guest, err)) > 0) {
		if (answer(&filter, err) < 0)
			return -1;
	}
	return got;
}

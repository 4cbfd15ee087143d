/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-ssh: one connection of a guest to the host's ssh-agent
 *
 * Reads a guest's bytes with nothing but two connections in its hands, and ends
 * with them. usage: bawn-ssh UID, which root takes; 0: none.
 * Descriptors: 2 errors, 3 the guest, 4 the agent, 5 the keys that may be used,
 * as an agent's answer.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/text.h"
#include "ssh/filter.h"
#include "ssh/profile.h"
#include "wire/ssh_agent.h"

enum {
	GUEST_FD = 3,
	AGENT_FD = 4,
	KEYS_FD = 5,
};

/* Somebody may have to confirm it. */
#define AGENT_PATIENCE_S 300

static int serve(const char *user, struct error *err)
{
	AUTO_BUFFER struct buffer text =
		BUFFER_INIT(SSH_AGENT_HEAD + SSH_AGENT_MESSAGE_MAX);
	const struct timeval patience = { .tv_sec = AGENT_PATIENCE_S };
	static struct ssh_keys allowed;
	uint64_t uid;

	if (text_to_u64(user, 0, UINT32_MAX - 1, &uid) < 0)
		return error_set(err, 0, "usage: bawn-ssh UID");
	if (fileio_read_fd(KEYS_FD, &text, err) < 0 ||
	    text.len <= SSH_AGENT_HEAD ||
	    ssh_agent_parse_keys(text.data + SSH_AGENT_HEAD,
				 text.len - SSH_AGENT_HEAD, &allowed) < 0)
		return error_set(err, 0, "the list of keys is malformed");
	close(KEYS_FD);
	if (setsockopt(AGENT_FD, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) < 0)
		return error_set(err, errno, "agent");
	if (profile_enter((uid_t)uid, err) < 0)
		return -1;
	return filter_serve(GUEST_FD, AGENT_FD, &allowed, err);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	int result;

	log_identity("bawn-ssh", NULL);
	signal(SIGPIPE, SIG_IGN);
	result = serve(argc == 2 ? argv[1] : "", &err);
	if (result < 0)
		log_error("%s", err.text);
	return result < 0;
}

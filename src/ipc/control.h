/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - JSON lines between the CLI and a supervisor (PROTOCOL.md §5)
 *
 * The client side blocks: the CLI has nothing else to do. The supervisor uses
 * only control_parse_line() and the encoders.
 *
 * Reading is buffered: after an answer came, line[0] to line[len - 1] are the
 * bytes that followed it. After `exec` or `attach` these are the first session
 * frames (or a part of one): use them before reading from fd.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

#define CONTROL_LINE_MAX (512u * 1024)
#define CONTROL_SOCKET_NAME "control.sock" /* in machine/ */
#define CONTROL_LAUNCH_SOCKET_NAME "launch.sock"

struct control_client {
	int fd;     /* owned, blocking */
	char *line; /* owned: bytes received and not yet used */
	size_t len;
	size_t capacity; /* private */
};

void control_client_init(struct control_client *client, int fd);
void control_client_release(struct control_client *client);

/*
 * Connects to NAME's supervisor. folder_fd is the sandbox's folder; the path
 * goes through /proc/self/fd, so that its length does not matter.
 * err->code is ENOENT or ECONNREFUSED when nobody listens.
 */
int control_connect(int folder_fd, struct error *err);
/* The same for a socket of another name, such as the launcher's. */
int control_connect_to(int folder_fd, const char *name, struct error *err);
/*
 * Listens on a socket in folder_fd, mode 0600, replacing a stale one. The
 * descriptor is non-blocking.
 */
int control_listen(int folder_fd, const char *name, struct error *err);
/*
 * 0 when the peer's uid may command us: our own or root. A uid that has no
 * mapping in our user namespace shows as 65534 and is always refused.
 */
int control_check_peer(int fd, uid_t owner, struct error *err);

int control_send(struct control_client *client, json_t *message,
		 struct error *err); /* takes the reference */
/* NULL on error or end of file (err->code ECONNRESET). Caller owns it. */
json_t *control_receive(struct control_client *client, struct error *err);
/*
 * Sends and waits for the answer. An answer {"ok":false,"error":T} becomes
 * an error with text T and code from "code". Progress lines are skipped.
 */
json_t *control_call(struct control_client *client, json_t *request,
		     struct error *err);

/* The same, and tells of the progress lines before the answer. */
typedef void control_progress_fn(void *ctx, const json_t *line);
json_t *control_call_watched(struct control_client *client, json_t *request,
			     control_progress_fn *on_progress, void *ctx,
			     struct error *err);

/* Strict JSON object of one line; NULL with err otherwise. */
json_t *control_parse_line(const char *line, size_t len, struct error *err);
/* malloc'd, ends in newline; NULL when it would be over CONTROL_LINE_MAX. */
char *control_encode_line(const json_t *message);
json_t *control_ok(void); /* {"ok":true} */
json_t *
control_failure(int code,
		const char *text); /* {"ok":false,…}; text may be anything */

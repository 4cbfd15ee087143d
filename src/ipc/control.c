/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - JSON lines between the CLI and a supervisor (PROTOCOL.md §5)
 *
 * Addresses go through /proc/self/fd/N: a Unix address holds 107 bytes and a
 * state folder's path may be longer; and a supervisor that runs under a
 * sandbox's own uid cannot walk its owner's folders, but it has the folder.
 */
#include "ipc/control.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define READ_BYTES (16u * 1024)
#define LISTEN_BACKLOG 64
#define PROGRESS_LINES_MAX 10000
/* What a uid without a mapping looks like in a user namespace. */
#define OVERFLOW_UID 65534

void control_client_init(struct control_client *client, int fd)
{
	*client = (struct control_client){ .fd = fd };
}

void control_client_release(struct control_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	free(client->line);
	*client = (struct control_client){ .fd = -1 };
}

static int folder_address(int folder_fd, const char *name,
			  struct sockaddr_un *address, struct error *err)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (text_format(address->sun_path, sizeof(address->sun_path),
			"/proc/self/fd/%d/%s", folder_fd, name) < 0)
		return error_set(err, ENAMETOOLONG, "%s", name);
	return 0;
}

int control_connect(int folder_fd, struct error *err)
{
	return control_connect_to(folder_fd, "machine/" CONTROL_SOCKET_NAME,
				  err);
}

int control_connect_to(int folder_fd, const char *name, struct error *err)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	int result;

	if (fd < 0)
		return error_set(err, errno, "socket");
	if (folder_address(folder_fd, name, &address, err) < 0)
		return -1;
	do {
		result = connect(fd, (const struct sockaddr *)&address,
				 sizeof(address));
	} while (result < 0 && errno == EINTR);
	if (result < 0)
		return error_set(err, errno, "%s", name);
	return TAKE_FD(fd);
}

/*
 * The socket gets its mode before it has a name, and its name only once it
 * listens: nobody else can connect in between, and no client is refused by a
 * socket that is just coming up.
 */
static int bind_and_listen(int fd, int folder_fd, const char *temporary,
			   const char *name, struct error *err)
{
	struct sockaddr_un address;

	if (folder_address(folder_fd, temporary, &address, err) < 0)
		return -1;
	unlinkat(folder_fd, temporary, 0);
	if (fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set(err, errno, "%s", temporary);
	if (listen(fd, LISTEN_BACKLOG) < 0 ||
	    renameat(folder_fd, temporary, folder_fd, name) < 0) {
		error_set(err, errno, "%s", name);
		unlinkat(folder_fd, temporary, 0);
		return -1;
	}
	return 0;
}

int control_listen(int folder_fd, const char *name, struct error *err)
{
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char temporary[64];

	if (fd < 0)
		return error_set(err, errno, "socket");
	if (text_format(temporary, sizeof(temporary), ".%s.%ld", name,
			(long)getpid()) < 0)
		return error_set(err, ENAMETOOLONG, "%s", name);
	if (bind_and_listen(fd, folder_fd, temporary, name, err) < 0)
		return -1;
	return TAKE_FD(fd);
}

int control_check_peer(int fd, uid_t owner, struct error *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return error_set(err, errno, "peer credentials");
	if (len != sizeof(peer) || peer.uid == OVERFLOW_UID ||
	    (peer.uid != owner && peer.uid != 0))
		return error_set(err, EPERM, "peer with uid %u", peer.uid);
	return 0;
}

static int send_all(int fd, const char *bytes, size_t len, struct error *err)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, errno, "control connection");
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

int control_send(struct control_client *client, json_t *message,
		 struct error *err)
{
	AUTO_FREE char *line = message ? control_encode_line(message) : NULL;

	json_decref(message);
	if (!line)
		return error_set(err, EMSGSIZE, "control request");
	return send_all(client->fd, line, strlen(line), err);
}

/* Appends what one read brings. */
static int read_more(struct control_client *client, struct error *err)
{
	size_t room;
	ssize_t n;

	if (client->len + READ_BYTES > client->capacity) {
		client->capacity = client->capacity * 2 + READ_BYTES;
		client->line = xrealloc(client->line, client->capacity);
	}
	room = client->capacity - client->len;
	do {
		n = read(client->fd, client->line + client->len, room);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_set(err, errno, "control connection");
	if (n == 0)
		return error_set(err, ECONNRESET, "control connection");
	client->len += (size_t)n;
	return 0;
}

/* Until line holds a whole one; its length without the newline, or -1. */
static long fill_line(struct control_client *client, struct error *err)
{
	size_t scanned = 0;

	for (;;) {
		const char *end = NULL;

		if (client->len > scanned)
			end = memchr(client->line + scanned, '\n',
				     client->len - scanned);
		scanned = end ? (size_t)(end - client->line) : client->len;
		if (scanned >= CONTROL_LINE_MAX)
			return error_set(err, EMSGSIZE, "control line");
		if (end)
			return (long)scanned;
		if (read_more(client, err) < 0)
			return -1;
	}
}

json_t *control_receive(struct control_client *client, struct error *err)
{
	long len = fill_line(client, err);
	size_t used = (size_t)len + 1;
	json_t *message;

	if (len < 0)
		return NULL;
	message = control_parse_line(client->line, (size_t)len, err);
	client->len -= used;
	memmove(client->line, client->line + used, client->len);
	return message;
}

/* Makes an error of {"ok":false,…}; text of a peer goes to a terminal. */
static int answer_error(const json_t *answer, struct error *err)
{
	const char *text = json_string_value(json_object_get(answer, "error"));
	json_int_t code = json_integer_value(json_object_get(answer, "code"));
	char safe[sizeof(err->text)];

	if (!text)
		text = "refused without a reason";
	text_printable(text, strlen(text), safe, sizeof(safe));
	error_set(err, 0, "%s", safe);
	if (err && code > 0 && code <= INT_MAX)
		err->code = (int)code;
	return -1;
}

json_t *control_call(struct control_client *client, json_t *request,
		     struct error *err)
{
	return control_call_watched(client, request, NULL, NULL, err);
}

json_t *control_call_watched(struct control_client *client, json_t *request,
			     control_progress_fn *on_progress, void *ctx,
			     struct error *err)
{
	if (control_send(client, request, err) < 0)
		return NULL;
	/* Bounded: progress without end would outlast every timeout. */
	for (int lines = 0; lines < PROGRESS_LINES_MAX; lines++) {
		json_t *answer = control_receive(client, err);
		const json_t *ok = json_object_get(answer, "ok");
		bool progress = !ok && json_object_get(answer, "progress");

		if (!answer || json_is_true(ok))
			return answer;
		if (json_is_false(ok))
			answer_error(answer, err);
		else if (!progress)
			error_set(err, EPROTO, "control answer without ok");
		else if (on_progress)
			on_progress(ctx, answer);
		json_decref(answer);
		if (!progress)
			return NULL;
	}
	error_set(err, EPROTO, "control answer: too much progress");
	return NULL;
}

json_t *control_parse_line(const char *line, size_t len, struct error *err)
{
	json_error_t why;
	json_t *message;

	if (len > 0 && line[len - 1] == '\n')
		len--;
	if (len >= CONTROL_LINE_MAX) {
		error_set(err, EMSGSIZE, "control line");
		return NULL;
	}
	if (len == 0 || memchr(line, '\n', len)) {
		error_set(err, EPROTO, "control line: not one line");
		return NULL;
	}
	message = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	if (message && json_is_object(message))
		return message;
	json_decref(message);
	error_set(err, EPROTO, "control line: not a JSON object");
	return NULL;
}

char *control_encode_line(const json_t *message)
{
	AUTO_FREE char *text = json_dumps(message, JSON_COMPACT);
	size_t len = text ? strlen(text) : 0;
	char *line;

	if (!text || len >= CONTROL_LINE_MAX)
		return NULL;
	line = xrealloc(TAKE_PTR(text), len + 2);
	line[len] = '\n';
	line[len + 1] = '\0';
	return line;
}

json_t *control_ok(void)
{
	return json_pack("{s:b}", "ok", 1);
}

json_t *control_failure(int code, const char *text)
{
	json_t *message = json_string(text);
	char safe[512];

	if (!message) { /* not UTF-8: something of the guest is in it */
		text_printable(text, strlen(text), safe, sizeof(safe));
		message = json_string(safe);
	}
	return json_pack("{s:b, s:o, s:i}", "ok", 0, "error", message, "code",
			 code);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker.c - a supervisor that runs for us alone
 */
#include "provision/maker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/control.h"
#include "provision/qcow2.h"
#include "state/paths.h"

char *maker_id(void)
{
	uint8_t bytes[16] = { 0 };
	char *text = xmalloc(2 * sizeof(bytes) + 1);

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		abort();
	text_hex(bytes, sizeof(bytes), text);
	return text;
}

int maker_disk(const char *path, uint64_t bytes, struct error *err)
{
	AUTO_CLOSE int fd = open(
		path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_set(err, errno, "%s", path);
	return qcow2_create(fd, bytes, err);
}

static int spawn(int theirs, struct child *child, struct error *err)
{
	AUTO_FREE char *path = paths_helper("bawn-supervisor", err);
	const char *argv[] = { "bawn-supervisor", NULL };
	struct child_fd fds[] = { { theirs, 3 } };
	struct child_spec spec = {
		.path = path,
		.argv = argv,
		.fds = fds,
		.fd_count = ARRAY_SIZE(fds),
		.flags = CHILD_NEW_SESSION | CHILD_NULL_STDIO,
	};

	return path ? child_spawn(&spec, child, err) : -1;
}

static json_t *talk(struct control_client *client,
		    const struct start_spec *spec, struct error *err)
{
	AUTO_FREE char *text = start_spec_encode(spec);
	AUTO_FREE char *line = xasprintf("%s\n", text);

	if (fileio_write_all(client->fd, line, strlen(line), err) < 0)
		return NULL;
	return control_call(client, json_pack("{s:s}", "op", "wait"), err);
}

json_t *maker_run(struct start_spec *spec, struct error *err)
{
	struct control_client client;
	struct child child;
	json_t *answer = NULL;
	int pair[2], status;
	bool spawned;

	if (!spec->ram_shim)
		spec->ram_shim = paths_helper("bawn-ramshim.so", err);
	if (!spec->ram_shim)
		return NULL;
	spec->uid = spec->gid = geteuid() == 0 ? MAKER_UID : 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		error_set(err, errno, "socketpair");
		return NULL;
	}
	control_client_init(&client, pair[0]);
	spawned = spawn(pair[1], &child, err) == 0;
	close(pair[1]);
	if (spawned)
		answer = talk(&client, spec, err);
	/* Ends a supervisor that has not ended by itself. */
	control_client_release(&client);
	if (spawned)
		child_wait(&child, &status, NULL);
	return answer;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_keys.c - keys of the user's ssh-agent that a sandbox may sign with
 */
#include "cli/ssh_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/socket_spec.h"
#include "cli/store.h"
#include "state/sandbox_record.h"
#include "state/socket_list.h"
#include "wire/ssh_agent.h"

#define PATIENCE_S 10
#define FILE_MAX 65536
#define MESSAGE_BYTES (SSH_AGENT_HEAD + SSH_AGENT_MESSAGE_MAX)

struct choice {
	struct ssh_keys have, chosen;
	uint8_t *answer;                    /* owned: have points there */
	unsigned char *files[SSH_KEYS_MAX]; /* owned: chosen may, too */
	size_t file_count;
};

static void choice_free(struct choice *choice)
{
	for (size_t i = 0; choice && i < choice->file_count; i++)
		free(choice->files[i]);
	if (choice)
		free(choice->answer);
	free(choice);
}
AUTO_DEFINE(choice, struct choice *, choice_free)

/* Through /proc: a path may be longer than an address. */
static int connect_agent(struct error *err)
{
	const char *path = getenv("SSH_AUTH_SOCK");
	AUTO_CLOSE int place = path ? open(path, O_PATH | O_CLOEXEC) : -1;
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!path || !*path)
		return error_set(err, 0,
				 "there is no ssh-agent (SSH_AUTH_SOCK is not "
				 "set)");
	text_format(address.sun_path, sizeof(address.sun_path),
		    "/proc/self/fd/%d", place);
	if (place < 0 || fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		       sizeof(patience)) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set(err, errno, "%s", path);
	return TAKE_FD(fd);
}

static int read_all(int fd, uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t got = read(fd, bytes, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		bytes += got;
		len -= (size_t)got;
	}
	return 0;
}

static int ask_agent(struct choice *choice, struct error *err)
{
	AUTO_CLOSE int fd = connect_agent(err);
	uint32_t len = 0;

	if (fd < 0)
		return -1;
	choice->answer = xmalloc(MESSAGE_BYTES);
	if (fileio_write_all(fd, ssh_agent_question, sizeof(ssh_agent_question),
			     err) < 0)
		return error_prefix(err, "ssh-agent");
	if (read_all(fd, choice->answer, SSH_AGENT_HEAD) == 0)
		len = ssh_agent_length(choice->answer);
	if (!len || read_all(fd, choice->answer, len) < 0 ||
	    ssh_agent_parse_keys(choice->answer, len, &choice->have) < 0)
		return error_set(err, 0, "ssh-agent does not answer");
	return 0;
}

static int take(struct choice *choice, const void *blob, size_t len,
		struct error *err)
{
	struct ssh_keys *chosen = &choice->chosen;

	if (ssh_agent_find(chosen, blob, len))
		return 0;
	if (chosen->count == SSH_KEYS_MAX)
		return error_set(err, 0, "more than %d keys", SSH_KEYS_MAX);
	chosen->list[chosen->count++] =
		(struct ssh_key){ .blob = blob, .len = (uint32_t)len };
	return 0;
}

static int take_file(struct choice *choice, const char *word, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_MAX);
	const char *home = getenv("HOME");
	AUTO_FREE char *path = text_starts(word, "~/") && home
				       ? xasprintf("%s/%s", home, word + 2)
				       : xstrdup(word);
	unsigned char *blob;
	int len;

	if (choice->file_count == SSH_KEYS_MAX)
		return error_set(err, 0, "more than %d keys", SSH_KEYS_MAX);
	if (fileio_read(AT_FDCWD, path, &text, err) < 0)
		return -1;
	blob = xmalloc(SSH_KEY_BLOB_MAX);
	choice->files[choice->file_count++] = blob;
	len = text.len ? ssh_keys_parse_line((const char *)text.data, text.len,
					     blob)
		       : -1;
	if (len < 0)
		return error_set(err, 0, "%s: no public key", word);
	return take(choice, blob, (size_t)len, err);
}

static int no_such_key(const struct choice *choice, const char *word,
		       struct error *err)
{
	AUTO_BUFFER struct buffer names = BUFFER_INIT(1024);

	for (size_t i = 0; i < choice->have.count; i++) {
		const struct ssh_key *key = &choice->have.list[i];
		char shown[128];

		text_printable((const char *)key->comment, key->comment_len,
			       shown, sizeof(shown));
		(void)buffer_printf(&names, "%s%s", i ? ", " : "", shown);
	}
	if (!*word)
		return error_set(err, 0,
				 "name the keys: --ssh-agent=KEY,... (there "
				 "is: %s)",
				 names.len ? buffer_str(&names) : "none");
	return error_set(err, 0, "ssh-agent has no key %s (there is: %s)", word,
			 names.len ? buffer_str(&names) : "none");
}

static int take_word(struct choice *choice, const char *word, struct error *err)
{
	const struct ssh_key *key;

	err->code = 0;
	key = ssh_keys_find(&choice->have, word, err);
	if (key)
		return take(choice, key->blob, key->len, err);
	if (err->code == EEXIST)
		return -1;
	if (strchr(word, '/') || text_ends(word, ".pub"))
		return take_file(choice, word, err);
	return no_such_key(choice, word, err);
}

static char *to_hex(const struct ssh_keys *keys)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(MESSAGE_BYTES);
	char *hex;

	if (ssh_agent_encode_keys(keys, &out) < 0)
		return NULL;
	hex = xmalloc(2 * out.len + 1);
	text_hex(out.data, out.len, hex);
	return hex;
}

char *ssh_keys_choose(const char *wish, struct error *err)
{
	AUTO(choice) struct choice *choice = xcalloc(1, sizeof(*choice));
	AUTO_FREE char *words = xstrdup(wish);
	char *word, *rest = words;
	int failed = ask_agent(choice, err);
	const struct ssh_key *only = &choice->have.list[0];

	if (!failed && !*wish)
		failed = choice->have.count == 1
				 ? take(choice, only->blob, only->len, err)
				 : no_such_key(choice, "", err);
	else
		while (!failed && (word = strsep(&rest, ",")))
			failed = take_word(choice, word, err);
	return failed ? NULL : to_hex(&choice->chosen);
}

json_t *ssh_keys_settings(const struct sandbox_record *record,
			  struct error *err)
{
	const char *path = getenv("SSH_AUTH_SOCK");
	AUTO_FREE char *real = path && *path ? realpath(path, NULL) : NULL;
	AUTO_STORE struct store store = STORE_INIT;
	struct socket_record socket = { .host = real };
	json_t *settings;

	if (!record->ssh_keys)
		return json_null();
	if (!real) {
		fprintf(stderr, "bawn: there is no ssh-agent here: the sandbox "
				"has none until its next start\n");
		return json_null();
	}
	/* Where a guest could put another socket it is none of the user's. */
	if (store_open(&store, err) < 0 ||
	    socket_spec_check(&socket, &record->shares, &store, err) < 0) {
		error_prefix(err, "ssh-agent");
		return NULL;
	}
	settings = json_pack("{s:s, s:s}", "socket", real, "keys",
			     record->ssh_keys);
	if (!settings)
		error_set(err, EILSEQ, "SSH_AUTH_SOCK");
	return settings;
}

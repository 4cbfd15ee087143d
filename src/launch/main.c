/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-launch: starts what a confined supervisor no longer could
 *
 * Started by bawn-supervisor before that gives anything up; reads no byte of a
 * guest. Descriptors: 2 log, 3 the channel to the supervisor, 4 the host's end
 * of the files port, 5 the start message, 6 the host's end of the network port,
 * 7 memory for bawn-net.
 *   {"name", "folder", "marker" (hex or null), "remove_at_end", "uid",
 *    "files", "net" (each an object or null)}
 *
 * What wakes the loop:
 *   supervisor        end of file: the sandbox is gone       below
 *   bawn-files, bawn-net, bawn-keys: what they say, exit     keeper.c
 *   launch socket, launch client                             clients.c
 *   resolver files, addresses: the host's network            host_facts.c
 *   named socket: one that is asked what it is               named_sockets.c
 *   hook: an answer of the user's program                    hook.c
 *   timers: start again, planned end, client, rule, host facts, last words
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/control.h"
#include "launch/clients.h"
#include "launch/keeper_files.h"
#include "launch/keeper_keys.h"
#include "launch/keeper_net.h"
#include "launch/net_settings.h"
#include "launch/profile.h"
#include "launch/removal.h"
#include "state/secret_store.h"

enum {
	CHANNEL_FD = 3,
	PORT_FD,
	MESSAGE_FD,
	NET_PORT_FD,
	SLOTS_FD,
	BESIDE_FD, /* and KEEPER_FILES_BESIDE - 1 more */
	LAST_FD = BESIDE_FD + KEEPER_FILES_BESIDE - 1,
	MESSAGE_BYTES_MAX = 4 << 20,
	LOG_BYTES_MAX = 4 << 20,
	LAST_WORDS_MS = 600, /* for bawn-files to take in what QEMU wrote */
	LOCK_TRIES = 200,
	LOCK_NAP_NS = 10000000,
};

struct launch {
	struct loop *loop;
	char *name, *path, *marker;
	bool remove_at_end;
	json_t *files, *net; /* until the keepers have them */
	unsigned uid;        /* of the sandbox, when we are root; else 0 */
	int folder;          /* the sandbox's */
	int lock;            /* one launcher at a time */
	int beside[KEEPER_FILES_BESIDE]; /* -1: none was given */
	struct source channel;
	struct keeper_lines lines;
	struct timer last_words;
	struct keeper_files files_keeper;
	struct keeper_net net_keeper;
	struct keeper_keys keys_keeper;
	struct clients clients;
	bool ending;
};

static char *copy_or_null(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static int read_message(struct launch *launch, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(MESSAGE_BYTES_MAX);
	const char *name, *path;
	json_error_t why;
	json_t *root, *marker;
	json_int_t uid;
	int failed, remove;

	if (fileio_read_fd(MESSAGE_FD, &text, err) < 0)
		return error_prefix(err, "start message");
	root = json_loadb((const char *)text.data, text.len,
			  JSON_REJECT_DUPLICATES, &why);
	failed = !root ||
		 json_unpack_ex(root, &why, JSON_STRICT,
				"{s:s, s:s, s:o, s:b, s:I, s:O, s:O}", "name",
				&name, "folder", &path, "marker", &marker,
				"remove_at_end", &remove, "uid", &uid, "files",
				&launch->files, "net", &launch->net) < 0;
	if (!failed) {
		launch->name = xstrdup(name);
		launch->path = xstrdup(path);
		launch->marker = copy_or_null(json_string_value(marker));
		launch->remove_at_end = remove;
		launch->uid = (unsigned)uid;
	}
	json_decref(root);
	return failed ? error_set(err, 0, "start message: %s", why.text) : 0;
}

/* The launcher of an earlier run may need an instant to end. */
static int take_lock(struct launch *launch, struct error *err)
{
	struct timespec nap = { .tv_nsec = LOCK_NAP_NS };

	for (int i = 0; i < LOCK_TRIES; i++) {
		launch->lock = fileio_lock(launch->folder, "launch.lock",
					   FILEIO_LOCK_TRY, err);
		if (launch->lock >= 0 || err->code != EWOULDBLOCK)
			break;
		nanosleep(&nap, NULL);
	}
	return launch->lock < 0 ? -1 : 0;
}

static void tell(const char *word, const char *text)
{
	char line[600];

	text_format(line, sizeof(line) - 1, "%s %s", word, text);
	text_format(line + strlen(line), 2, "\n");
	if (send(CHANNEL_FD, line, strlen(line), MSG_NOSIGNAL) < 0)
		log_debug("the supervisor has gone");
}

static void finish_if_done(struct launch *launch)
{
	if (launch->ending && !keeper_runs(&launch->files_keeper.keeper) &&
	    !keeper_runs(&launch->net_keeper.keeper) &&
	    !keeper_runs(&launch->keys_keeper.keeper))
		loop_stop(launch->loop);
}

static void on_keeper_change(void *ctx)
{
	struct launch *launch = ctx;

	clients_keeper_changed(&launch->clients);
	finish_if_done(launch);
}

static void on_keeper_failed(void *ctx, const char *text)
{
	tell("failed", text);
}

static void on_keeper_lacks(void *ctx, const char *text)
{
	log_warn("%s", text);
	tell("lacks", text);
}

/* The guest is served without secrets too, and bawn-net waits for none. */
static void on_keys_failed(void *ctx, const char *text)
{
	struct launch *launch = ctx;

	launch->net_keeper.has_keys = false;
	on_keeper_lacks(ctx, text);
}

static const struct keeper_ops keys_ops = {
	.on_change = on_keeper_change,
	.on_failed = on_keys_failed,
	.on_lacks = on_keeper_lacks,
};

static void on_keys(void *ctx, int fd)
{
	struct launch *launch = ctx;

	keeper_keys_use_net(&launch->keys_keeper, fd);
}

static void on_traffic(void *ctx)
{
	tell("traffic", "");
}

static const struct keeper_ops keeper_ops = {
	.on_change = on_keeper_change,
	.on_failed = on_keeper_failed,
	.on_lacks = on_keeper_lacks,
};

static void on_mark(void *ctx, const char *why)
{
	struct launch *launch = ctx;

	clients_marked(&launch->clients, why);
}

static void on_question_send(void *ctx, json_t *packet)
{
	struct launch *launch = ctx;

	keeper_net_send(&launch->net_keeper, packet);
}

static bool on_question_may_edit(void *ctx)
{
	struct launch *launch = ctx;

	return !launch->net_keeper.keeper.settings_back;
}

static void on_question_rule(void *ctx, const char *line, const char *why)
{
	struct launch *launch = ctx;

	if (!why)
		keeper_net_add_rule(&launch->net_keeper, line);
	clients_rule_written(&launch->clients, line, why);
}

static void on_question_ask(void *ctx, const struct ask *ask)
{
	struct launch *launch = ctx;

	clients_asked(&launch->clients, ask);
}

static void on_question_over(void *ctx, uint32_t id)
{
	struct launch *launch = ctx;

	clients_ask_over(&launch->clients, id);
}

static const struct questions_ops questions_ops = {
	.send = on_question_send,
	.may_edit = on_question_may_edit,
	.on_rule = on_question_rule,
	.on_ask = on_question_ask,
	.on_over = on_question_over,
};

static void on_last_words(struct timer *timer)
{
	struct launch *launch = CONTAINER_OF(timer, struct launch, last_words);

	keeper_kill(&launch->files_keeper.keeper);
	keeper_kill(&launch->net_keeper.keeper);
}

/* For a snapshot: nobody may write to the ports of a machine that stands. */
static void freeze(struct launch *launch, const char *marker)
{
	struct error err;

	keeper_freeze(&launch->net_keeper.keeper);
	if (keeper_files_freeze(&launch->files_keeper, marker, &err) < 0)
		log_warn("snapshot: %s", err.text);
	else if (send(CHANNEL_FD, "frozen\n", strlen("frozen\n"),
		      MSG_NOSIGNAL) < 0)
		log_debug("the supervisor has gone");
}

static void thaw(struct launch *launch)
{
	keeper_thaw(&launch->net_keeper.keeper);
	keeper_thaw(&launch->files_keeper.keeper);
}

static void on_line(void *ctx, const char *line)
{
	struct launch *launch = ctx;

	if (text_starts(line, "freeze "))
		freeze(launch, line + strlen("freeze "));
	else if (strcmp(line, "thaw") == 0)
		thaw(launch);
}

/* What the supervisor says of snapshots, and its end. */
static void on_channel(struct source *source, uint32_t events)
{
	struct launch *launch = CONTAINER_OF(source, struct launch, channel);

	keeper_read_lines(source, &launch->lines, on_line, launch);
	if (source->loop)
		return;
	thaw(launch);
	launch->ending = true;
	keeper_end(&launch->files_keeper.keeper);
	keeper_end(&launch->net_keeper.keeper);
	keeper_end(&launch->keys_keeper.keeper);
	keeper_kill(&launch->keys_keeper.keeper);
	timer_start(launch->loop, &launch->last_words, LAST_WORDS_MS);
	finish_if_done(launch);
}

static void open_log(const struct launch *launch)
{
	log_identity("bawn-launch", launch->name);
	log_max(LOG_BYTES_MAX);
	log_timestamps(true);
	log_level_set(LOG_LEVEL_INFO);
}

static json_t *keys_settings(const struct launch *launch)
{
	json_t *settings = json_object_get(launch->net, "keys");

	return settings ? json_incref(settings) : json_null();
}

static int open_keepers(struct launch *launch, struct error *err)
{
	struct keeper_files *files = &launch->files_keeper;
	struct keeper_net *net = &launch->net_keeper;
	struct keeper_keys *keys = &launch->keys_keeper;

	net->sandbox = launch->name;
	net->uid = launch->uid;
	net->slots = SLOTS_FD;
	net->questions.ops = &questions_ops;
	net->questions.ctx = launch;
	if (keeper_files_init(files, launch->loop, PORT_FD, launch->folder,
			      launch->marker, err) < 0 ||
	    keeper_net_init(net, launch->loop, NET_PORT_FD, launch->folder,
			    launch->marker, err) < 0 ||
	    keeper_keys_init(keys, launch->loop, launch->folder,
			     keys_settings(launch), err) < 0)
		return -1;
	keys->expected = &net->has_keys;
	keys->keeper.ops = &keys_ops;
	keys->keeper.ctx = launch;
	net->on_keys = on_keys;
	net->on_traffic = on_traffic;
	files->on_mark = on_mark;
	memcpy(files->beside, launch->beside, sizeof(files->beside));
	files->keeper.ops = net->keeper.ops = &keeper_ops;
	files->keeper.ctx = net->keeper.ctx = launch;
	return 0;
}

static int prepare(struct launch *launch, struct error *err)
{
	AUTO_CLOSE int listener = -1;

	launch->folder = open(launch->path,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (launch->folder < 0)
		return error_set(err, errno, "%s", launch->path);
	launch->loop = loop_new(err);
	if (!launch->loop || take_lock(launch, err) < 0)
		return -1;
	listener =
		control_listen(launch->folder, CONTROL_LAUNCH_SOCKET_NAME, err);
	if (listener < 0 || open_keepers(launch, err) < 0)
		return -1;
	launch->last_words = (struct timer){ .name = "last words",
					     .on_fire = on_last_words };
	launch->channel = (struct source){ .name = "supervisor",
					   .fd = CHANNEL_FD,
					   .events = EPOLLIN,
					   .on_event = on_channel };
	if (loop_add(launch->loop, &launch->channel, err) < 0)
		return -1;
	launch->clients = (struct clients){ .loop = launch->loop,
					    .files = &launch->files_keeper,
					    .net = &launch->net_keeper,
					    .keys = &launch->keys_keeper };
	return clients_open(&launch->clients, TAKE_FD(listener), err);
}

/* What was given, or NULL: then there is no network. */
static int check_net(struct launch *launch, struct error *err)
{
	json_t *given = launch->net;

	launch->net = NULL;
	if (json_is_object(given)) {
		launch->net = net_settings_check(given, NULL, err);
		if (!launch->net)
			return -1;
	}
	json_decref(given);
	return hook_start(&launch->net_keeper.questions.hook,
			  json_object_get(launch->net, "hook"), err);
}

static int run(struct launch *launch, struct error *err)
{
	if (read_message(launch, err) < 0)
		return -1;
	close(MESSAGE_FD);
	open_log(launch);
	if (check_net(launch, err) < 0 || prepare(launch, err) < 0 ||
	    profile_enter(err) < 0)
		return -1;
	if (json_is_object(launch->files))
		keeper_serve(&launch->files_keeper.keeper,
			     TAKE_PTR(launch->files));
	keeper_keys_serve(&launch->keys_keeper);
	if (launch->net)
		keeper_net_serve(&launch->net_keeper, TAKE_PTR(launch->net));
	return loop_run(launch->loop, err);
}

static int existing(int fd)
{
	return fcntl(fd, F_GETFD) < 0 ? -1 : fd;
}

int main(void)
{
	static struct launch launch = { .folder = -1, .lock = -1 };
	struct error err = { 0 };

	log_identity("bawn-launch", NULL);
	signal(SIGPIPE, SIG_IGN);
	umask(077);
	/* Keys of a session pass through here. */
	secret_store_wipe_json();
	/* Before anything else can have these numbers. */
	for (int i = 0; i < KEEPER_FILES_BESIDE; i++)
		launch.beside[i] = existing(BESIDE_FD + i);
	for (int fd = CHANNEL_FD; fd <= LAST_FD; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (chdir("/") < 0)
		log_debug("/: %s", strerror(errno));
	if (run(&launch, &err) < 0) {
		log_error("%s", err.text);
		tell("failed", err.text);
		return 1;
	}
	clients_close(&launch.clients);
	keeper_files_release(&launch.files_keeper);
	keeper_net_release(&launch.net_keeper);
	keeper_keys_release(&launch.keys_keeper);
	if (launch.remove_at_end)
		removal_of_sandbox(launch.folder, launch.path, launch.name);
	return 0;
}

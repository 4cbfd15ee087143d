/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - the sandbox's own Docker, started by who first connects to it
 */
#include "guest/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/engine_keeper.h"
#include "guest/modules.h"
#include "guest/runtime.h"

#define SOCKET_PATH "/var/run/docker.sock"
#define LOG_PATH "/var/log/dockerd.log"
#define BACKLOG 128
#define FD_LISTENER 3 /* of the keeper */
#define AGAIN_MS 3000
#define ANSWER_MS 3000
#define SLOW_MS 10000 /* dockerd gives containerd 15 s */

const char *engine_find(const char *root)
{
	static const char *const places[] = {
		"/usr/local/sbin/dockerd", "/usr/local/bin/dockerd",
		"/usr/sbin/dockerd",       "/usr/bin/dockerd",
		"/sbin/dockerd",           "/bin/dockerd",
	};
	char full[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (text_format(full, sizeof(full), "%s%s", root, places[i]) ==
			    0 &&
		    stat(full, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_mode & S_IXUSR)
			return places[i];
	}
	return NULL;
}

gid_t engine_group(const struct account_files *files)
{
	struct account agent, docker;

	if (account_resolve(files, ACCOUNT_AGENT, &agent) < 0)
		return ACCOUNT_AGENT_ID;
	if (account_resolve(files, "root:docker", &docker) < 0)
		return agent.gid;
	for (size_t i = 0; i < agent.group_count; i++) {
		if (agent.groups[i] == docker.gid)
			return docker.gid;
	}
	return agent.gid;
}

static gid_t find_group(void)
{
	AUTO_BUFFER struct buffer passwd = BUFFER_INIT(ACCOUNT_FILE_MAX);
	AUTO_BUFFER struct buffer group = BUFFER_INIT(ACCOUNT_FILE_MAX);
	struct account_files files;
	struct error err;

	if (fileio_read(AT_FDCWD, "/etc/passwd", &passwd, &err) ||
	    fileio_read(AT_FDCWD, "/etc/group", &group, &err))
		log_debug("%s", err.text);
	files.passwd = (struct slice){ (char *)passwd.data, passwd.len };
	files.group = (struct slice){ (char *)group.data, group.len };
	return engine_group(&files);
}

static int open_socket(struct error *err)
{
	static const struct sockaddr_un address = { .sun_family = AF_UNIX,
						    .sun_path = SOCKET_PATH };
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return error_set(err, errno, "socket");
	if (mkdir("/var", 0755) == 0 || errno == EEXIST)
		(void)!symlink("/run", "/var/run");
	/* One of an earlier boot, where the folder is on the disk. */
	unlink(SOCKET_PATH);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    chown(SOCKET_PATH, 0, find_group()) || chmod(SOCKET_PATH, 0660) ||
	    listen(fd, BACKLOG))
		return error_set(err, errno, SOCKET_PATH);
	return TAKE_FD(fd);
}

/*
 * Ends of sessions' pipes among them: who reads there would wait for an end
 * of input that does not come as long as the engine runs.
 */
static void drop_descriptors(int listener)
{
	if (dup3(fcntl(listener, F_DUPFD_CLOEXEC, FD_LISTENER + 1), FD_LISTENER,
		 O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, FD_LISTENER + 1, ~0u, 0))
		_exit(1);
	log_to(open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC));
}

static _Noreturn void run_keeper(const struct engine *engine)
{
	struct engine_keeper keeper = { .listener = FD_LISTENER,
					.program = engine->program,
					.log = LOG_PATH,
					.slow_ms = SLOW_MS,
					.answer_ms = ANSWER_MS };
	sigset_t none;

	if (cgroup_join(&engine->cgroup))
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	/* After a cold boot they may still come. */
	modules_wait(MODULES_ALL);
	drop_descriptors(engine->listener.fd);
	runtime_provide();
	engine_keeper_run(&keeper);
}

static void listen_again(struct engine *engine)
{
	struct error err;

	if (loop_add(engine->loop, &engine->listener, &err))
		log_error("docker: %s", err.text);
}

static void on_client(struct source *source, uint32_t events)
{
	struct engine *engine = CONTAINER_OF(source, struct engine, listener);

	/* From now on the engine accepts, until it ends. */
	loop_del(source);
	if (engine->cgroup.fd < 0)
		engine->cgroup = cgroups_make(engine->cgroups);
	engine->was_used = true;
	engine->pid = fork();
	if (engine->pid == 0)
		run_keeper(engine);
	if (engine->pid < 0) {
		log_error("docker: %s", strerror(errno));
		engine->pid = 0;
		timer_start(engine->loop, &engine->again, AGAIN_MS);
	}
}

static void on_again(struct timer *timer)
{
	listen_again(CONTAINER_OF(timer, struct engine, again));
}

void engine_start(struct engine *engine, struct loop *loop,
		  struct cgroups *cgroups)
{
	struct error err;

	*engine = (struct engine){
		.loop = loop,
		.cgroups = cgroups,
		.listener = { .name = "docker",
			      .fd = -1,
			      .events = EPOLLIN,
			      .on_event = on_client },
		.again = { .name = "docker", .on_fire = on_again },
		.cgroup = { .fd = -1 },
		.program = engine_find(""),
	};
	if (!engine->program)
		return;
	engine->listener.fd = open_socket(&err);
	if (engine->listener.fd < 0)
		log_warn("docker: %s", err.text);
	else
		listen_again(engine);
}

bool engine_on_exit(struct engine *engine, pid_t pid)
{
	if (!engine->pid || pid != engine->pid)
		return false;
	engine->pid = 0;
	if (!engine->stopping)
		listen_again(engine);
	return true;
}

void engine_stop(struct engine *engine)
{
	engine->stopping = true;
	timer_stop(&engine->again);
	loop_del(&engine->listener);
}

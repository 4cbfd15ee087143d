/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_user.c - the user that every template has
 */
#include "guest/agent_user.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/accounts.h"

#define AGENT_HOME "/home/" ACCOUNT_AGENT

enum missing_file {
	MISSING_STAYS_AWAY,
	MISSING_IS_MADE,
};

/* 1 when a line was added, 0 when it was there (or no file), -1. */
static int add_line(const char *path, const char *line,
		    enum missing_file missing, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(ACCOUNT_FILE_MAX);
	int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	AUTO_CLOSE int fd = open(path, flags | (missing ? O_CREAT : 0), 0644);

	if (fd < 0 && errno == ENOENT && missing == MISSING_STAYS_AWAY)
		return 0;
	if (fd < 0)
		return error_set(err, errno, "%s", path);
	if (fileio_read_fd(fd, &text, err))
		return error_prefix(err, "%s", path);
	if (account_has((struct slice){ (char *)text.data, text.len },
			ACCOUNT_AGENT))
		return 0;
	if (text.len && text.data[text.len - 1] != '\n' &&
	    fileio_write_all(fd, "\n", 1, err))
		return -1;
	return fileio_write_all(fd, line, strlen(line), err) ? -1 : 1;
}

static const char *pick_shell(void)
{
	return access("/bin/bash", X_OK) ? "/bin/sh" : "/bin/bash";
}

static void make_home(void)
{
	if (mkdir("/home", 0755) && errno != EEXIST)
		log_warn("/home: %s", strerror(errno));
	if (mkdir(AGENT_HOME, 0755) == 0 &&
	    chown(AGENT_HOME, ACCOUNT_AGENT_ID, ACCOUNT_AGENT_ID))
		log_warn("%s: %s", AGENT_HOME, strerror(errno));
}

static void allow_sudo(void)
{
	static const char rule[] =
		ACCOUNT_AGENT " ALL=(ALL:ALL) NOPASSWD: ALL\n";
	AUTO_CLOSE int folder =
		open("/etc/sudoers.d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err;

	if (folder >= 0 && fileio_replace(folder, "bawn-" ACCOUNT_AGENT, rule,
					  strlen(rule), 0440, 0, &err))
		log_warn("sudo: %s", err.text);
}

void agent_user_ensure(void)
{
	char line[256];
	struct error err;
	int added;

	text_format(line, sizeof(line), "%s:x:%d:%d::%s:%s\n", ACCOUNT_AGENT,
		    ACCOUNT_AGENT_ID, ACCOUNT_AGENT_ID, AGENT_HOME,
		    pick_shell());
	added = add_line("/etc/passwd", line, MISSING_IS_MADE, &err);
	if (added < 0)
		log_warn("user %s: %s", ACCOUNT_AGENT, err.text);
	if (added <= 0)
		return;
	text_format(line, sizeof(line), "%s:x:%d:\n", ACCOUNT_AGENT,
		    ACCOUNT_AGENT_ID);
	if (add_line("/etc/group", line, MISSING_IS_MADE, &err) < 0 ||
	    add_line("/etc/shadow", ACCOUNT_AGENT ":*:19000:0:99999:7:::\n",
		     MISSING_STAYS_AWAY, &err) < 0)
		log_warn("user %s: %s", ACCOUNT_AGENT, err.text);
	make_home();
	allow_sudo();
}

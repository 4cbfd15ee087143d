/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_probe.c - prints the inotify events of folders and files, a line each
 *
 * usage: watch_probe PATH...
 * "ready" comes first; then KIND NAME, with the number of the path in front.
 */
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

static const struct {
	uint32_t mask;
	const char *name;
} kinds[] = {
	{ IN_MODIFY, "MODIFY" },       { IN_ATTRIB, "ATTRIB" },
	{ IN_CLOSE_WRITE, "CLOSE" },   { IN_MOVED_FROM, "MOVED_FROM" },
	{ IN_MOVED_TO, "MOVED_TO" },   { IN_CREATE, "CREATE" },
	{ IN_DELETE, "DELETE" },       { IN_DELETE_SELF, "DELETE_SELF" },
	{ IN_Q_OVERFLOW, "OVERFLOW" },
};

static void print(const struct inotify_event *event)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (event->mask & kinds[i].mask)
			printf("%d %s %s\n", event->wd, kinds[i].name,
			       event->len ? event->name : "-");
	}
}

int main(int argc, char **argv)
{
	char bytes[65536]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	int fd = inotify_init1(IN_CLOEXEC);

	for (int i = 1; i < argc; i++) {
		if (inotify_add_watch(fd, argv[i],
				      IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE |
					      IN_MOVE | IN_CREATE | IN_DELETE |
					      IN_DELETE_SELF) < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event =
				(const void *)(bytes + at);

			print(event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
		fflush(stdout);
		if (n <= 0)
			return 1;
	}
}

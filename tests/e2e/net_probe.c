/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_probe.c - what programs in a guest do with a network; static, because it
 * runs in any template
 *
 * raw DEVICE BYTES           reads so many bytes; seconds
 * get ADDRESS PORT BYTES     connects and reads so many; seconds
 * put ADDRESS PORT BYTES     connects, sends so many, waits for the end;
 * seconds lookup SERVER COUNT        questions over UDP; median milliseconds
 * refused ADDRESS PORT COUNT connections that end at once; median milliseconds
 * send ADDRESS PORT         one datagram; what came of it
 * unix PATH TEXT            sends it to a Unix socket, prints the answer
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024, COUNT_MAX = 10000 };

static char chunk[CHUNK];
static double times[COUNT_MAX];

static long long number(const char *text)
{
	return strtoll(text, NULL, 10);
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static int fail(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	return 1;
}

static struct sockaddr_in address_of(const char *text, int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port) };

	inet_pton(AF_INET, text, &address.sin_addr);
	return address;
}

static int connect_to(const char *text, int port)
{
	struct sockaddr_in address = address_of(text, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -1;
	return fd;
}

/* Timed from the first byte, so that waiting for the sender is not. */
static int drain(int fd, long long wanted)
{
	long long got = 0;
	double begin = 0;

	while (got < wanted) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n <= 0)
			return fail("read");
		if (!got)
			begin = now();
		got += n;
	}
	printf("%.6f\n", now() - begin);
	return 0;
}

static int put(int fd, long long wanted)
{
	double begin = now();

	while (wanted > 0) {
		ssize_t n = write(fd, chunk,
				  wanted < CHUNK ? (size_t)wanted : CHUNK);

		if (n <= 0)
			return fail("write");
		wanted -= n;
	}
	shutdown(fd, SHUT_WR);
	if (read(fd, chunk, 1) < 0)
		return fail("end");
	printf("%.6f\n", now() - begin);
	return 0;
}

static int by_value(const void *one, const void *other)
{
	double difference = *(const double *)one - *(const double *)other;

	return difference < 0 ? -1 : difference > 0;
}

static int print_median(int count)
{
	qsort(times, (size_t)count, sizeof(times[0]), by_value);
	printf("%.3f\n", times[count / 2] * 1000);
	return 0;
}

static int lookup(const char *server, int count)
{
	static const char rest[] = "\1\0\0\1\0\0\0\0\0\0"
				   "\7example\3com\0\0\1\0\1";
	struct sockaddr_in address = address_of(server, 53);

	for (int i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		char question[2 + sizeof(rest) - 1] = { (char)(i >> 8),
							(char)i };
		double begin = now();

		memcpy(question + 2, rest, sizeof(rest) - 1);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
		    write(fd, question, sizeof(question)) < 0 ||
		    read(fd, chunk, sizeof(chunk)) < 12 ||
		    memcmp(chunk, question, 2) != 0)
			return fail("lookup");
		times[i] = now() - begin;
		close(fd);
	}
	return print_median(count);
}

static int refused(const char *text, int port, int count)
{
	for (int i = 0; i < count; i++) {
		double begin = now();
		int fd = connect_to(text, port);

		if (fd >= 0 && read(fd, chunk, 1) > 0) {
			printf("not refused\n");
			return 1;
		}
		times[i] = now() - begin;
		if (fd >= 0)
			close(fd);
	}
	return print_median(count);
}

static int send_datagram(const char *text, int port)
{
	struct sockaddr_in address = address_of(text, port);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (sendto(fd, "x", 1, 0, (struct sockaddr *)&address,
		   sizeof(address)) < 0)
		return fail("send");
	printf("went\n");
	return 0;
}

static int talk_unix(const char *path, const char *text)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t n;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail("connect");
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return fail("send");
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		fwrite(chunk, 1, (size_t)n, stdout);
	return n < 0 ? fail("read") : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[1] : "";
	int fd = -1;

	if (!strcmp(what, "raw"))
		fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	else if (argc > 4 && (!strcmp(what, "get") || !strcmp(what, "put")))
		fd = connect_to(argv[2], (int)number(argv[3]));
	else if (!strcmp(what, "lookup") && (int)number(argv[3]) <= COUNT_MAX)
		return lookup(argv[2], (int)number(argv[3]));
	else if (!strcmp(what, "unix"))
		return talk_unix(argv[2], argv[3]);
	else if (!strcmp(what, "send"))
		return send_datagram(argv[2], (int)number(argv[3]));
	else if (argc > 4 && !strcmp(what, "refused") &&
		 (int)number(argv[4]) <= COUNT_MAX)
		return refused(argv[2], (int)number(argv[3]),
			       (int)number(argv[4]));
	else
		return 2;
	if (fd < 0)
		return fail(argv[2]);
	if (!strcmp(what, "put"))
		return put(fd, number(argv[4]));
	return drain(fd, number(argv[argc - 1]));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_qmp.c - a monitor at the other end of a socketpair
 */
#include "supervisor/qmp.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/tap.h"
#include "supervisor/qmp_reply.h"

static struct {
	int answers, failures, lost_answers, events, lost;
} seen;

static void on_answer(void *ctx, const struct qmp_reply *reply)
{
	if (!reply)
		seen.lost_answers++;
	else if (reply->kind == QMP_ERROR)
		seen.failures++;
	else
		seen.answers++;
}

static void on_event(void *ctx, const struct qmp_reply *event)
{
	seen.events++;
}

static void on_lost(void *ctx, const char *why)
{
	seen.lost++;
}

static const struct qmp_ops ops = { on_event, on_lost };

static struct loop *loop;
static struct qmp qmp;
static int peer;

static void begin(void)
{
	struct error err;
	int pair[2];

	memset(&seen, 0, sizeof(seen));
	loop = loop_new(&err);
	if (!loop || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		abort();
	peer = pair[1];
	if (qmp_open(&qmp, loop, pair[0], &ops, NULL, &err) < 0)
		abort();
}

static void end(void)
{
	qmp_close(&qmp);
	loop_free(loop);
	if (peer >= 0)
		close(peer);
}

static void say(const char *text)
{
	struct error err;

	CHECK(write(peer, text, strlen(text)) == (ssize_t)strlen(text));
	loop_step(loop, 100, &err);
}

static void answers_come_back_to_who_asked(void)
{
	struct error err;

	begin();
	CHECK(qmp_send(&qmp, "stop", NULL, on_answer, &err) == 0);
	CHECK(qmp_send(&qmp, "cont", NULL, on_answer, &err) == 0);
	say("{\"QMP\": {}}\r\n{\"return\": {}, \"id\": 1}\r\n{\"ret");
	say("urn\": {}, \"id\": 2}\r\n{\"event\": \"STOP\"}\n"
	    "{\"error\": {\"desc\": \"no\"}, \"id\": 3}\r\n");
	CHECK(seen.answers == 1 && seen.failures == 1 && seen.events == 1);
	CHECK(seen.lost == 0);
	end();
}

static void an_answer_that_nobody_asked_for_ends_the_monitor(void)
{
	begin();
	say("{\"return\": {}, \"id\": 9}\n");
	CHECK(seen.lost == 1 && !qmp_is_open(&qmp));
	end();
}

static void nonsense_ends_the_monitor_and_every_question(void)
{
	struct error err;

	begin();
	CHECK(qmp_send(&qmp, "stop", NULL, on_answer, &err) == 0);
	say("nonsense\n");
	CHECK(seen.lost == 1 && seen.lost_answers == 1);
	CHECK(qmp_send(&qmp, "stop", NULL, on_answer, &err) < 0);
	end();
}

static void a_descriptor_travels_with_its_command(void)
{
	struct error err;
	char bytes[4096], control[256];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t got;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	begin();
	CHECK(read(peer, bytes, sizeof(bytes)) > 0); /* qmp_capabilities */
	CHECK(qmp_send_fd(&qmp, 77, fd, NULL, &err) == 0);
	got = recvmsg(peer, &message, 0);
	REQUIRE(got > 0);
	bytes[got] = '\0';
	CHECK(strstr(bytes, "add-fd") && strstr(bytes, "77"));
	REQUIRE(CMSG_FIRSTHDR(&message));
	CHECK(CMSG_FIRSTHDR(&message)->cmsg_type == SCM_RIGHTS);
	close(*(int *)(void *)CMSG_DATA(CMSG_FIRSTHDR(&message)));
	close(fd);
	end();
}

int main(void)
{
	RUN(answers_come_back_to_who_asked);
	RUN(an_answer_that_nobody_asked_for_ends_the_monitor);
	RUN(nonsense_ends_the_monitor_and_every_question);
	RUN(a_descriptor_travels_with_its_command);
	return DONE();
}

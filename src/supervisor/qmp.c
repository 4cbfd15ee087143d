/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qmp.c - JSON lines over a socketpair, with descriptors where needed
 */
#include "supervisor/qmp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "supervisor/qmp_reply.h"

enum {
	READS_A_ROUND = 4,
	OUT_MAX = 64 * 1024,
	DRAIN_ROUNDS = 16, /* the socket's buffer, and no more */
};

static void qmp_lost(struct qmp *qmp, const char *why)
{
	const struct qmp_ops *ops = qmp->ops;
	void *ctx = qmp->ctx;

	if (!qmp_is_open(qmp))
		return;
	log_debug("monitor: %s", why);
	qmp_close(qmp);
	ops->on_lost(ctx, why);
}

static void handle_answer(struct qmp *qmp, const struct qmp_reply *reply)
{
	struct qmp_pending pending;

	if (reply->kind == QMP_ERROR && reply->id == 0) {
		qmp_lost(qmp, reply->text);
		return;
	}
	if (!qmp->pending_count ||
	    qmp->pending[qmp->pending_first].id != reply->id) {
		qmp_lost(qmp, "the monitor answered what was not asked");
		return;
	}
	pending = qmp->pending[qmp->pending_first];
	qmp->pending_first = (qmp->pending_first + 1) % QMP_PENDING_MAX;
	qmp->pending_count--;
	if (reply->kind == QMP_ERROR)
		log_debug("monitor: %s", reply->text);
	if (pending.on_answer)
		pending.on_answer(qmp->ctx, reply);
}

static void handle_line(struct qmp *qmp, const char *line, size_t len)
{
	struct qmp_reply reply;
	struct error err;

	if (len && line[len - 1] == '\r')
		len--;
	if (qmp_reply_parse(line, len, &reply, &err) < 0) {
		qmp_lost(qmp, err.text);
		return;
	}
	log_trace("monitor: < %.*s", (int)(len < 400 ? len : 400), line);
	if (reply.kind == QMP_EVENT)
		qmp->ops->on_event(qmp->ctx, &reply);
	else if (reply.kind != QMP_GREETING)
		handle_answer(qmp, &reply);
	qmp_reply_release(&reply);
}

static void handle_lines(struct qmp *qmp)
{
	size_t used = 0;

	while (qmp_is_open(qmp)) {
		const char *start = (const char *)qmp->in.data + used;
		size_t left = qmp->in.len - used;
		const char *end = left ? memchr(start, '\n', left) : NULL;

		if (!end)
			break;
		used += (size_t)(end - start) + 1;
		handle_line(qmp, start, (size_t)(end - start));
	}
	if (qmp_is_open(qmp))
		buffer_consume(&qmp->in, used);
}

static void qmp_read(struct qmp *qmp)
{
	char bytes[16384];

	for (int i = 0; i < READS_A_ROUND && qmp_is_open(qmp); i++) {
		ssize_t got = read(qmp->source.fd, bytes, sizeof(bytes));

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			qmp_lost(qmp, "the monitor was closed");
			return;
		}
		if (buffer_append(&qmp->in, bytes, (size_t)got) < 0) {
			qmp_lost(qmp, "the monitor sent a line without end");
			return;
		}
		handle_lines(qmp);
		if ((size_t)got < sizeof(bytes))
			return;
	}
}

/* The bytes up to the carrier of a descriptor, or with it. */
static ssize_t write_some(struct qmp *qmp)
{
	struct iovec iov = { qmp->out.data, qmp->out.len };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (qmp->send_fd >= 0 && qmp->fd_at > 0) {
		iov.iov_len = qmp->fd_at;
	} else if (qmp->send_fd >= 0) {
		struct cmsghdr *header;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &qmp->send_fd, sizeof(int));
	}
	return sendmsg(qmp->source.fd, &message, MSG_NOSIGNAL);
}

static void qmp_flush(struct qmp *qmp)
{
	while (qmp->out.len) {
		ssize_t sent = write_some(qmp);

		if (sent < 0 && errno == EAGAIN)
			break;
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) {
			/* The reading side finds out why. */
			buffer_consume(&qmp->out, qmp->out.len);
			break;
		}
		if (qmp->send_fd >= 0 && qmp->fd_at == 0) {
			close(qmp->send_fd);
			qmp->send_fd = -1;
		} else if (qmp->send_fd >= 0) {
			qmp->fd_at -= (size_t)sent;
		}
		buffer_consume(&qmp->out, (size_t)sent);
	}
	loop_wait_for(&qmp->source,
		      qmp->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void qmp_drain(struct qmp *qmp)
{
	for (int i = 0; i < DRAIN_ROUNDS && qmp_is_open(qmp); i++)
		qmp_read(qmp);
}

static void on_qmp(struct source *source, uint32_t events)
{
	struct qmp *qmp = CONTAINER_OF(source, struct qmp, source);

	if (events & EPOLLOUT)
		qmp_flush(qmp);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		qmp_read(qmp);
}

int qmp_open(struct qmp *qmp, struct loop *loop, int fd,
	     const struct qmp_ops *ops, void *ctx, struct error *err)
{
	*qmp = (struct qmp){
		.ops = ops,
		.ctx = ctx,
		.source = { .name = "monitor",
			    .fd = fd,
			    .events = EPOLLIN,
			    .on_event = on_qmp },
		.in = BUFFER_INIT(QMP_LINE_MAX),
		.out = BUFFER_INIT(OUT_MAX),
		.send_fd = -1,
		.next_id = 1,
	};
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "monitor");
	if (loop_add(loop, &qmp->source, err) < 0)
		return error_prefix(err, "monitor");
	return qmp_send(qmp, "qmp_capabilities", NULL, NULL, err);
}

void qmp_close(struct qmp *qmp)
{
	if (!qmp_is_open(qmp))
		return;
	loop_del(&qmp->source);
	close(qmp->source.fd);
	qmp->source.fd = -1;
	if (qmp->send_fd >= 0)
		close(qmp->send_fd);
	qmp->send_fd = -1;
	buffer_release(&qmp->in);
	buffer_release(&qmp->out);
	while (qmp->pending_count) {
		qmp_answer_fn *answer =
			qmp->pending[qmp->pending_first].on_answer;

		qmp->pending_first = (qmp->pending_first + 1) % QMP_PENDING_MAX;
		qmp->pending_count--;
		if (answer)
			answer(qmp->ctx, NULL);
	}
}

bool qmp_is_open(const struct qmp *qmp)
{
	return qmp->ops && qmp->source.fd >= 0;
}

static int queue_command(struct qmp *qmp, const char *command,
			 json_t *arguments, qmp_answer_fn *on_answer,
			 struct error *err)
{
	json_t *root = json_pack("{s:s, s:I}", "execute", command, "id",
				 (json_int_t)qmp->next_id);
	AUTO_FREE char *text = NULL;
	unsigned slot =
		(qmp->pending_first + qmp->pending_count) % QMP_PENDING_MAX;

	if (arguments)
		json_object_set_new(root, "arguments", arguments);
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (!qmp_is_open(qmp) || !text)
		return error_set(err, EPIPE, "monitor: %s", command);
	if (qmp->pending_count == QMP_PENDING_MAX ||
	    buffer_printf(&qmp->out, "%s\n", text) < 0)
		return error_set(err, EAGAIN, "monitor: %s", command);
	qmp->pending[slot] = (struct qmp_pending){ qmp->next_id++, on_answer };
	qmp->pending_count++;
	log_trace("monitor: > %s", text);
	return 0;
}

int qmp_send(struct qmp *qmp, const char *command, json_t *arguments,
	     qmp_answer_fn *on_answer, struct error *err)
{
	if (queue_command(qmp, command, arguments, on_answer, err) < 0)
		return -1;
	qmp_flush(qmp);
	return 0;
}

int qmp_send_fd(struct qmp *qmp, unsigned set, int fd, qmp_answer_fn *on_answer,
		struct error *err)
{
	size_t at = qmp->out.len;
	AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return error_set(err, errno, "monitor: add-fd");
	if (qmp->send_fd >= 0)
		return error_set(err, EAGAIN, "monitor: add-fd");
	if (queue_command(qmp, "add-fd",
			  json_pack("{s:i}", "fdset-id", (int)set), on_answer,
			  err) < 0)
		return -1;
	qmp->send_fd = TAKE_FD(copy);
	qmp->fd_at = at;
	qmp_flush(qmp);
	return 0;
}

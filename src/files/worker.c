/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - one thread that waits for the disk
 */
#include "files/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "files/ops.h"

#define STACK_BYTES (64U << 10)
#define ROOM_BYTES 4096

static void on_done(struct source *source, uint32_t events);

int worker_init(struct server *server, struct error *err)
{
	struct worker *worker = &server->worker;
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "eventfd");
	worker->source = (struct source){
		.name = "disk", .fd = fd, .events = EPOLLIN, .on_event = on_done
	};
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->filled, NULL);
	return loop_add(server->loop, &worker->source, err);
}

static int work(int fd, enum worker_task task)
{
	int result;

	if (task == WORKER_SYNCFS)
		result = syncfs(fd);
	else
		result = task == WORKER_FDATASYNC ? fdatasync(fd) : fsync(fd);
	return result < 0 ? errno : 0;
}

static void *run(void *ctx)
{
	struct worker *worker = ctx;
	const uint64_t one = 1;

	pthread_mutex_lock(&worker->lock);
	worker->running = true;
	pthread_cond_signal(&worker->filled);
	for (;;) {
		struct worker_job *job;

		while (worker->done == worker->count)
			pthread_cond_wait(&worker->filled, &worker->lock);
		job = &worker->jobs[(worker->first + worker->done) %
				    WORKER_JOBS_MAX];
		pthread_mutex_unlock(&worker->lock);
		job->error = work(job->fd, job->task);
		close(job->fd);
		pthread_mutex_lock(&worker->lock);
		worker->done++;
		if (write(worker->source.fd, &one, sizeof(one)) < 0)
			continue; /* it is full, hence not zero */
	}
	return NULL;
}

int worker_start(struct server *server, struct error *err)
{
	struct worker *worker = &server->worker;
	pthread_attr_t attr;
	pthread_t thread;
	int code;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	code = pthread_create(&thread, &attr, run, worker);
	pthread_attr_destroy(&attr);
	if (code)
		return error_set(err, code, "worker");
	/* It starts with system calls that it will not need again. */
	pthread_mutex_lock(&worker->lock);
	while (!worker->running)
		pthread_cond_wait(&worker->filled, &worker->lock);
	pthread_mutex_unlock(&worker->lock);
	return 0;
}

int worker_sync(struct op *op, int fd, enum worker_task task)
{
	struct worker *worker = &op->server->worker;
	struct worker_job job = { .unique = op->request->unique,
				  .share = (uint8_t)op->share_index,
				  .task = (uint8_t)task };
	bool taken = false;

	job.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (job.fd < 0)
		return -work(fd, task);
	pthread_mutex_lock(&worker->lock);
	if (worker->running && worker->count < WORKER_JOBS_MAX) {
		worker->jobs[(worker->first + worker->count++) %
			     WORKER_JOBS_MAX] = job;
		pthread_cond_signal(&worker->filled);
		taken = true;
	}
	pthread_mutex_unlock(&worker->lock);
	if (taken)
		return OP_LATER;
	close(job.fd);
	return -work(fd, task);
}

static bool take(struct worker *worker, struct worker_job *job)
{
	bool found;

	pthread_mutex_lock(&worker->lock);
	found = worker->done > 0;
	if (found) {
		*job = worker->jobs[worker->first];
		worker->first = (worker->first + 1) % WORKER_JOBS_MAX;
		worker->count--;
		worker->done--;
	}
	pthread_mutex_unlock(&worker->lock);
	return found;
}

void worker_answer(struct server *server)
{
	struct worker_job job;
	struct reply reply;
	size_t left;

	for (;;) {
		void *room = port_room(&server->port, &left);

		if (left < ROOM_BYTES || !take(&server->worker, &job))
			return;
		reply_begin(&reply, room, left);
		port_commit(&server->port, reply_end(&reply, job.share,
						     job.unique, job.error));
	}
}

static void on_done(struct source *source, uint32_t events)
{
	struct server *server =
		CONTAINER_OF(source, struct server, worker.source);
	uint64_t count;

	if (read(source->fd, &count, sizeof(count)) < 0)
		return;
	worker_answer(server);
	port_kick(&server->port);
}

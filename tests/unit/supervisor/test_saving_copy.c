/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_saving_copy.c - a copy beside the loop: its end, its failure, its stop
 */
#include "supervisor/saving_copy.h"

#include <errno.h>
#include <stddef.h>

#include "base/own.h"
#include "lib/tap.h"
#include "supervisor/ram_image.h"

#define DEADLINE_MS 20000

static struct loop *loop;

struct test {
	struct ram_image image; /* bytes: the parts that are left */
	struct saving_copy copy;
	struct timer deadline;
	unsigned ends;
	bool failed;
};

static int three_parts(struct ram_image *image, uint64_t budget,
		       struct error *err)
{
	CHECK(budget > 0);
	image->at++;
	if (image->private)
		return error_set(err, EIO, "the disk is gone");
	return image->at < image->bytes;
}

static void on_end(void *ctx, const struct error *failure)
{
	struct test *test = ctx;

	test->ends++;
	test->failed = failure && failure->code == EIO;
	loop_stop(loop);
}

static void on_deadline(struct timer *timer)
{
	(void)timer;
	CHECK(!"it does not end");
	loop_stop(loop);
}

static void begin(struct test *test, uint64_t parts)
{
	struct error err = { 0 };

	*test = (struct test){
		.image = { .bytes = parts },
		.copy = SAVING_COPY_INIT,
		.deadline = { .name = "deadline", .on_fire = on_deadline },
	};
	loop = loop_new(&err);
	CHECK(loop != NULL);
	test->copy.part = three_parts;
	test->copy.image = &test->image;
	test->copy.beside = true;
	test->copy.on_end = on_end;
	test->copy.ctx = test;
}

static void run(struct test *test)
{
	struct error err = { 0 };

	CHECK(saving_copy_start(&test->copy, loop, &err) == 0);
	timer_start(loop, &test->deadline, DEADLINE_MS);
	CHECK(loop_run(loop, &err) == 0);
	timer_stop(&test->deadline);
}

static void every_part_is_copied_and_the_loop_is_told_once(void)
{
	struct test test;

	begin(&test, 3);
	run(&test);
	CHECK(test.ends == 1 && !test.failed && test.image.at == 3);
	/* and once more with the same one */
	test.image.bytes = 5;
	run(&test);
	CHECK(test.ends == 2 && test.image.at == 5);
	saving_copy_stop(&test.copy);
	loop_free(loop);
}

static void a_failure_is_told(void)
{
	struct test test;

	begin(&test, 3);
	test.image.private = 1;
	run(&test);
	CHECK(test.ends == 1 && test.failed && test.image.at == 1);
	loop_free(loop);
}

static void a_stopped_copy_says_nothing(void)
{
	struct error err = { 0 };
	struct test test;

	begin(&test, UINT64_MAX);
	CHECK(saving_copy_start(&test.copy, loop, &err) == 0);
	saving_copy_stop(&test.copy);
	CHECK(test.ends == 0 && test.image.at > 0);
	loop_free(loop);
}

int main(void)
{
	RUN(every_part_is_copied_and_the_loop_is_told_once);
	RUN(a_failure_is_told);
	RUN(a_stopped_copy_says_nothing);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_promise.c - unit tests of loop/promise.h
 */
#include "loop/promise.h"

#include "lib/tap.h"

static const struct promise_words words = { "COMPLETE", "GIVE UP", "NEXT" };
static struct promises got;

static enum promise_kind parse(const char *text)
{
	promises_parse(text, strlen(text), &words, &got);
	return got.kind;
}

static void each_promise_is_found(void)
{
	CHECK(parse("All done.\n<promise>COMPLETE</promise>\n") ==
	      PROMISE_COMPLETE);
	CHECK(parse("Done. **<promise> COMPLETE </promise>** ") ==
	      PROMISE_COMPLETE);
	CHECK(parse("<promise>GIVE UP</promise>") == PROMISE_ABORT);
	CHECK(parse("<promise>BLOCKED: no key\n here</promise>") ==
	      PROMISE_BLOCKED);
	CHECK(!strcmp(got.text, "no key\\x0a here"));
	CHECK(parse("<promise>DECIDE:a or b?</promise>\r\n") == PROMISE_DECIDE);
	CHECK(!strcmp(got.text, "a or b?"));
	CHECK(parse("<promise>BLOCKED</promise>") == PROMISE_BLOCKED);
	CHECK(parse("<promise>NEXT</promise>") == PROMISE_NONE && got.task);
}

static void done_tasks_are_listed(void)
{
	CHECK(parse("<promise>AUTH-1:DONE</promise>\n"
		    "<promise>a b:DONE</promise>\n"
		    "<promise>#7:DONE</promise>\n"
		    "<promise>:DONE</promise>") == PROMISE_NONE);
	REQUIRE(got.done_count == 2);
	CHECK(!strcmp(got.done[0], "AUTH-1") && !strcmp(got.done[1], "#7"));
}

static void the_last_of_several_counts(void)
{
	CHECK(parse("<promise>COMPLETE</promise>\n"
		    "<promise>BLOCKED:x</promise>") == PROMISE_BLOCKED);
	CHECK(parse("<promise>BLOCKED:x</promise>\n"
		    "<promise>COMPLETE</promise>") == PROMISE_COMPLETE);
}

static const char *const none[] = {
	"",
	"COMPLETE",
	"<promise>complete</promise>",
	"<promise>COMPLETE",
	"<promise>COMPLETE</promise> comes when the tests pass",
	"I do not say <promise>COMPLETE</promise>.",
	"```\n<promise>COMPLETE</promise>\n```\n",
	"~~~~ text\n<promise>COMPLETE</promise>\n~~~\n~~~~\n",
	"  ```sh\necho x\n<promise>COMPLETE</promise>\n",
	"the tag `<promise>COMPLETE</promise>`",
	"``a ` <promise>COMPLETE</promise>``",
	"<promise>COM`x`PLETE</promise>",
	"```\n``\n<promise>COMPLETE</promise>\n```",
	"<promise>NOT COMPLETE</promise>",
};

static void quotes_and_code_are_no_promise(void)
{
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		CHECK(parse(none[i]) == PROMISE_NONE);
		if (got.kind)
			printf("# %s\n", none[i]);
	}
}

static void a_promise_after_code_counts(void)
{
	CHECK(parse("```c\nint x;\n```\n<promise>COMPLETE</promise>") ==
	      PROMISE_COMPLETE);
	CHECK(parse("a ` lone mark\n<promise>COMPLETE</promise>") ==
	      PROMISE_COMPLETE);
	CHECK(parse("<promise>oh\n<promise>COMPLETE</promise>") ==
	      PROMISE_COMPLETE);
}

static void a_cut_text_is_harmless(void)
{
	static const char text[] = "a `b` ```\nx\n```\n"
				   "<promise>T-1:DONE</promise>\n"
				   "<promise>BLOCKED:why</promise>";
	struct promises part;

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		char *copy = malloc(len + 1);

		memcpy(copy, text, len);
		promises_parse(copy, len, &words, &part);
		CHECK(part.kind == PROMISE_NONE);
		free(copy);
	}
}

static void many_open_tags_take_no_time(void)
{
	size_t len = 9 * 20000;
	char *text = malloc(len);

	for (size_t i = 0; i < len; i += 9)
		memcpy(text + i, "<promise>", 9);
	promises_parse(text, len, &words, &got);
	CHECK(got.kind == PROMISE_NONE);
	free(text);
}

int main(void)
{
	RUN(each_promise_is_found);
	RUN(done_tasks_are_listed);
	RUN(the_last_of_several_counts);
	RUN(quotes_and_code_are_no_promise);
	RUN(a_promise_after_code_counts);
	RUN(a_cut_text_is_harmless);
	RUN(many_open_tags_take_no_time);
	return DONE();
}

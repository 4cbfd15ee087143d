/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_prompt.c - unit tests of loop/prompt.h
 */
#include "loop/prompt.h"

#include "base/buffer.h"
#include "lib/tap.h"
#include "loop/promise.h"
#include "loop/tasks.h"

static const struct promise_words words = { "FINI", NULL, NULL };
static struct buffer out = BUFFER_INIT(PROMPT_MAX);

static const char *make(const char *template, struct prompt_parts *parts)
{
	buffer_release(&out);
	parts->words = &words;
	if (prompt_make(template, parts, &out, NULL) < 0)
		return "(failed)";
	return buffer_str(&out);
}

static void the_default_says_all(void)
{
	struct task_list tasks = TASK_LIST_INIT;
	struct prompt_parts parts = { .prompt = "Fix it",
				      .iteration = 2,
				      .max_iterations = 9,
				      .tasks = &tasks,
				      .tasks_file = "T.md",
				      .context = "auth first",
				      .feedback = "tests fail",
				      .struggle = "- slow\n" };
	const char *text;

	tasks_parse_markdown("- [ ] A-1: go", 13, &tasks, NULL);
	text = make(NULL, &parts);
	CHECK(!strncmp(text, "Fix it\n", 7));
	CHECK(strstr(text, "iteration 2 of at most 9"));
	CHECK(strstr(text, "A-1: go") && strstr(text, "T.md"));
	CHECK(strstr(text, "auth first") && strstr(text, "tests fail"));
	CHECK(strstr(text, "- slow"));
	CHECK(strstr(text, "<promise>FINI</promise>"));
	tasks_release(&tasks);
}

static void a_template_is_filled_once(void)
{
	struct prompt_parts parts = { .prompt = "{{iteration}}",
				      .iteration = 4,
				      .context = "",
				      .feedback = "",
				      .struggle = "" };

	CHECK(!strcmp(
		make("{{prompt}}{ {{x}} {{iteration}}{{context}}{", &parts),
		"{{iteration}}{ {{x}} 4{"));
}

static void one_that_is_too_long_is_refused(void)
{
	char *big = calloc(1, PROMPT_MAX + 1);
	struct prompt_parts parts = {
		.prompt = big, .context = "", .feedback = "", .struggle = ""
	};

	memset(big, 'x', PROMPT_MAX);
	CHECK(!strcmp(make(NULL, &parts), "(failed)"));
	free(big);
}

int main(void)
{
	RUN(the_default_says_all);
	RUN(a_template_is_filled_once);
	RUN(one_that_is_too_long_is_refused);
	buffer_release(&out);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_options.c - one table: parsing, suggestions, help
 */
#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "cli/options.h"
#include "lib/tap.h"

static const struct option_row rows[] = {
	{ "interactive", 'i', OPTION_FLAG, NULL, "pass stdin on", NULL,
	  OPTION_HERE },
	{ "tty", 't', OPTION_FLAG, NULL, "a terminal", NULL, OPTION_HERE },
	{ "memory", 'm', OPTION_VALUE, "SIZE", "memory", NULL, OPTION_HERE },
	{ "env", 'e', OPTION_LIST, "KEY=VALUE", "a variable", NULL,
	  OPTION_HERE },
	{ "policy", '\0', OPTION_VALUE, "P", "", NULL, OPTION_LATER },
	{ "mount-docker-socket", '\0', OPTION_FLAG, NULL, "it is root", NULL,
	  OPTION_REFUSED },
	{ .name = NULL },
};

static const struct command run = {
	.name = "run",
	.arguments = "[PATH...] [-- ARGS]",
	.help = "run it",
	.options = rows,
	.flags = COMMAND_TAKES_REST,
	.max_words = COMMAND_ANY_WORDS,
};

static const struct command exec = {
	.name = "exec",
	.arguments = "NAME CMD...",
	.help = "execute it",
	.options = rows,
	.flags = COMMAND_STOPS_EARLY,
	.min_words = 1,
	.max_words = 1,
};

static const struct command one = {
	.name = "one",
	.arguments = "NAME",
	.help = "takes one word",
	.min_words = 1,
	.max_words = 1,
};

static struct options options;
static struct error err;

#define PARSE(command, ...) \
	parse(command, (const char *const[]){ __VA_ARGS__, NULL })

static int parse(const struct command *command, const char *const *argv)
{
	int argc = 0;

	options_release(&options);
	err = (struct error){ 0 };
	while (argv[argc])
		argc++;
	return options_parse(command, argc, argv, &options, &err);
}

static void values_may_follow_or_be_joined(void)
{
	CHECK(PARSE(&run, "--memory", "4G") == 0);
	CHECK(!strcmp(options_value(&options, "memory"), "4G"));
	CHECK(PARSE(&run, "--memory=5G") == 0);
	CHECK(!strcmp(options_value(&options, "memory"), "5G"));
	CHECK(PARSE(&run, "-m", "6G") == 0);
	CHECK(!strcmp(options_value(&options, "memory"), "6G"));
	CHECK(PARSE(&run, "-m7G") == 0);
	CHECK(!strcmp(options_value(&options, "memory"), "7G"));
	CHECK(PARSE(&run, "-m=8G") == 0);
	CHECK(!strcmp(options_value(&options, "memory"), "8G"));
	CHECK(PARSE(&run, "--memory=") == 0);
	CHECK(!strcmp(options_value(&options, "memory"), ""));
}

static void the_last_value_counts(void)
{
	CHECK(PARSE(&run, "-m1G", "-m2G") == 0);
	CHECK(!strcmp(options_value(&options, "memory"), "2G"));
}

static void letters_are_bundled(void)
{
	CHECK(PARSE(&run, "-it") == 0);
	CHECK(options_flag(&options, "interactive"));
	CHECK(options_flag(&options, "tty"));
	CHECK(PARSE(&run, "-itm", "1G") == 0);
	CHECK(!strcmp(options_value(&options, "memory"), "1G"));
	CHECK(PARSE(&run, "-iiiiiiiiiiiiiiiiiiiiiiiiiiii") == 0);
}

static void repeatable_options_keep_their_order(void)
{
	size_t at = 0;

	CHECK(PARSE(&run, "-e", "A=1", "x", "--env=B=2", "-eC=3") == 0);
	CHECK(!strcmp(options_next(&options, "env", &at), "A=1"));
	CHECK(!strcmp(options_next(&options, "env", &at), "B=2"));
	CHECK(!strcmp(options_next(&options, "env", &at), "C=3"));
	CHECK(!options_next(&options, "env", &at));
	CHECK(options.word_count == 1 && !strcmp(options.words[0], "x"));
}

static void two_dashes_begin_the_rest(void)
{
	CHECK(PARSE(&run, ".", "--", "-c", "--", "true") == 0);
	CHECK(options.word_count == 1 && options.rest_count == 3);
	CHECK(!strcmp(options.rest[0], "-c"));
	CHECK(!strcmp(options.rest[1], "--"));
	CHECK(PARSE(&run, ".") == 0);
	CHECK(!options.rest);
	CHECK(PARSE(&one, "--", "-odd-name") == 0);
	CHECK(!strcmp(options.words[0], "-odd-name"));
}

static void a_command_line_begins_after_the_first_word(void)
{
	CHECK(PARSE(&exec, "-it", "box", "ls", "-la", "--tty") == 0);
	CHECK(options.word_count == 1 && options.rest_count == 3);
	CHECK(!strcmp(options.rest[1], "-la"));
	CHECK(PARSE(&exec, "box", "--", "ls", "--") == 0);
	CHECK(options.rest_count == 2 && !strcmp(options.rest[0], "ls"));
	CHECK(PARSE(&exec, "box") == 0);
	CHECK(options.rest_count == 0);
}

static void a_lone_dash_is_a_word(void)
{
	CHECK(PARSE(&run, "-") == 0);
	CHECK(options.word_count == 1);
}

static void unknown_options_are_usage_errors_with_a_suggestion(void)
{
	CHECK(PARSE(&run, "--memry", "1G") < 0);
	CHECK(err.code == OPTIONS_USAGE);
	CHECK(strstr(err.text, "--memry") && strstr(err.text, "--memory"));
	CHECK(PARSE(&run, "--zzzzzzzzz") < 0);
	CHECK(strstr(err.text, "bawn run --help"));
	CHECK(PARSE(&run, "-x") < 0 && err.code == OPTIONS_USAGE);
	CHECK(PARSE(&run, "--\033[31m") < 0 && !strchr(err.text, '\033'));
}

static void missing_and_unwanted_values_are_usage_errors(void)
{
	CHECK(PARSE(&run, "--memory") < 0 && err.code == OPTIONS_USAGE);
	CHECK(PARSE(&run, "-m") < 0 && err.code == OPTIONS_USAGE);
	CHECK(PARSE(&run, "--tty=yes") < 0 && err.code == OPTIONS_USAGE);
}

static void what_comes_later_says_so_and_is_no_usage_error(void)
{
	CHECK(PARSE(&run, "--policy", "open") < 0);
	CHECK(err.code == 0 && strstr(err.text, "not available yet"));
	CHECK(PARSE(&run, "--mount-docker-socket") < 0);
	CHECK(strstr(err.text, "it is root"));
}

static void the_number_of_words_is_checked(void)
{
	CHECK(PARSE(&one, "a", "b") < 0 && err.code == OPTIONS_USAGE);
	CHECK(parse(&one, (const char *const[]){ NULL }) < 0);
	CHECK(strstr(err.text, "usage: bawn one NAME"));
}

static void help_ends_the_parsing(void)
{
	CHECK(PARSE(&one, "--help", "--nonsense") == 0 && options.help);
	CHECK(PARSE(&one, "-D", "x") == 0 && options.debug);
}

static void help_shows_every_option_that_is_there(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(4096);

	options_help(&run, &text);
	REQUIRE(buffer_str(&text));
	CHECK(strstr((char *)text.data, "-m, --memory SIZE"));
	CHECK(strstr((char *)text.data, "--env KEY=VALUE"));
	CHECK(!strstr((char *)text.data, "--policy"));
}

int main(void)
{
	RUN(values_may_follow_or_be_joined);
	RUN(the_last_value_counts);
	RUN(letters_are_bundled);
	RUN(repeatable_options_keep_their_order);
	RUN(two_dashes_begin_the_rest);
	RUN(a_command_line_begins_after_the_first_word);
	RUN(a_lone_dash_is_a_word);
	RUN(unknown_options_are_usage_errors_with_a_suggestion);
	RUN(missing_and_unwanted_values_are_usage_errors);
	RUN(what_comes_later_says_so_and_is_no_usage_error);
	RUN(the_number_of_words_is_checked);
	RUN(help_ends_the_parsing);
	RUN(help_shows_every_option_that_is_there);
	options_release(&options);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - global options, the choice of a command, and the only place that
 * prints errors
 *
 * Exit codes: 0; 1 failure; 2 usage; 125 our own failure in run and exec,
 * 126 not executable, 127 not found, 128+n signal; 141 when nobody reads our
 * output.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "cli/command.h"
#include "cli/progress_view.h"
#include "cli/remote_helper.h"
#include "cli/spelling.h"
#include "cli/store.h"
#include "cli/terminal.h"
#include "cli/vendor.h"
#include "provision/template_build.h"

enum {
	EXIT_USAGE = 2,
	EXIT_BROKEN_PIPE = 128 + SIGPIPE,
	HELP_MAX = 64 * 1024,
};

/* A file that is opened later must not become somebody's stdout. */
static void open_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
			_exit(1);
}

/*
 * Ctrl-C before a session has begun, or while something is made: what is half
 * made is found and cleaned by the next command. An exit code instead of a
 * death by signal, so that it is the same one whatever bawn was doing.
 */
static void on_signal(int number)
{
	terminal_restore();
	progress_view_forget();
	_exit(128 + number);
}

static void catch_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old, action = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		if (sigaction(caught[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN) /* nohup */
			sigaction(caught[i], &action, NULL);
}

static void print_error(const struct error *err)
{
	progress_view_clear();
	fprintf(stderr, "bawn: %s\n", err->text);
}

/* Output that did not arrive is a failure like any other. */
static int flush_output(int code)
{
	struct error err = { 0 };

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno == EPIPE)
		return EXIT_BROKEN_PIPE;
	error_set(&err, errno, "writing the output");
	print_error(&err);
	return code ? code : 1;
}

static int print_buffer(struct buffer *text)
{
	fwrite(text->data, 1, text->len, stdout);
	return flush_output(0);
}

static int show_overview(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(HELP_MAX);

	command_overview(&text);
	return print_buffer(&text);
}

static int show_group(const char *group)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(HELP_MAX);

	command_group_help(group, &text);
	return print_buffer(&text);
}

static int show_help(const struct command *command)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(HELP_MAX);

	options_help(command, &text);
	return print_buffer(&text);
}

static void clean_leftovers(void)
{
	AUTO_STORE struct store store = STORE_INIT;

	if (store_open(&store, NULL) == 0)
		store_clean(&store);
}

static int fail(const struct command *command, int result,
		const struct error *err)
{
	print_error(err);
	if (err->code == OPTIONS_USAGE)
		return command->usage_code ? command->usage_code : EXIT_USAGE;
	if (result == COMMAND_NOT_EXECUTABLE || result == COMMAND_NOT_FOUND)
		return -result;
	return command->failure_code;
}

static int run_command(const struct command *command, int argc,
		       const char *const *argv)
{
	struct options options;
	struct error err = { 0 };
	int result = options_parse(command, argc, argv, &options, &err);

	if (options.debug)
		log_level_set(LOG_LEVEL_DEBUG);
	if (result == 0 && options.help) {
		options_release(&options);
		return show_help(command);
	}
	if (result == 0) {
		if (command->flags & COMMAND_USES_STORE)
			clean_leftovers();
		template_use_vendor(vendor_install);
		result = command->run(&options, &err);
	}
	if (result < 0)
		result = fail(command, result, &err);
	options_release(&options);
	return flush_output(result);
}

static int usage_error(const struct error *err)
{
	print_error(err);
	return EXIT_USAGE;
}

/* Options before the command; returns how many words they took, or -1. */
static int global_options(int argc, const char *const *argv, bool *help,
			  bool *version, struct error *err)
{
	int i;

	for (i = 0; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-D") || !strcmp(argv[i], "--debug"))
			log_level_set(LOG_LEVEL_DEBUG);
		else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			*help = true;
		else if (!strcmp(argv[i], "--version"))
			*version = true;
		else
			return options_usage(err,
					     "unknown option %s (see `%s "
					     "help`)",
					     argv[i], spelling_program());
	}
	return i;
}

static int dispatch(int argc, const char *const *argv, bool help)
{
	bool version = false;
	const struct command *command;
	struct error err = { 0 };
	const char *group = NULL;
	int used = global_options(argc, argv, &help, &version, &err);
	int words = 0;

	if (used < 0)
		return usage_error(&err);
	argc -= used;
	argv += used;
	if (version)
		return run_command(&command_version, 0, argv);
	if (argc > 0 && spelling_is_needless(argv[0])) {
		fprintf(stderr,
			"bawn: %s: sandboxes of this machine need no account "
			"(`sbx secret set` keeps the keys of agents)\n",
			argv[0]);
		return 0;
	}
	if (argc == 0)
		return show_overview() || !help ? EXIT_USAGE : 0;
	command = command_find(argc, argv, &words, &group, &err);
	if (group)
		return show_group(group) || (argc == 1 && !help) ? EXIT_USAGE
								 : 0;
	if (!command)
		return usage_error(&err);
	if (help)
		return show_help(command);
	return run_command(command, argc - words, argv + words);
}

/* As `bawn`, or as one of the other names that it has. */
static int dispatch_spelled(int argc, const char *const *argv)
{
	struct spelling_prefix prefix;
	struct error err = { 0 };

	if (spelling_metadata(argc, argv))
		return flush_output(0);
	if (spelling_skip(argc, argv, &prefix, &err) < 0)
		return usage_error(&err);
	if (prefix.debug)
		log_level_set(LOG_LEVEL_DEBUG);
	if (spelling_now() == SPELLING_RALPH)
		return run_command(&command_ralph, argc, argv);
	return dispatch(argc - prefix.words, argv + prefix.words, prefix.help);
}

int main(int argc, char **argv)
{
	int code;

	open_stdio();
	/* writers see EPIPE instead, and say so by their exit code */
	signal(SIGPIPE, SIG_IGN);
	catch_signals();
	log_identity("bawn", NULL);
	log_level_set(LOG_LEVEL_WARN);
	if (argc > 0 && remote_helper_called(argv[0]))
		return remote_helper_run(argc, (const char *const *)argv);
	spelling_of(argc > 0 ? argv[0] : "");
	code = dispatch_spelled(argc > 0 ? argc - 1 : 0,
				(const char *const *)argv + (argc > 0));
	progress_view_clear();
	terminal_restore();
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - one option table for each command
 *
 * The table is the only list of options: parsing, --help, completion and the
 * test of the man pages read it. Nothing here prints or exits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct options;

enum option_kind {
	OPTION_FLAG,
	OPTION_VALUE, /* the last one counts */
	OPTION_LIST,  /* may be repeated */
	OPTION_MAYBE, /* only with "=" it has a value, else it is "" */
};

enum option_status {
	OPTION_HERE,
	OPTION_LATER,   /* recognised, not available in this version */
	OPTION_REFUSED, /* `help` says why bawn will not do it */
};

struct option_row {
	const char *name; /* long, without dashes; NULL ends a table */
	char letter;      /* '\0' when there is none */
	enum option_kind kind;
	const char *value; /* its name in the help; NULL for a flag */
	const char *help;
	/* what completes it: "a|b|c", or one of the COMPLETE_ words */
	const char *completes;
	enum option_status status;
};

#define COMPLETE_SANDBOXES "@sandboxes"
#define COMPLETE_TEMPLATES "@templates"
#define COMPLETE_PRESETS "@presets"
#define COMPLETE_COMMANDS "@commands"
#define COMPLETE_LABELS "@labels" /* of the sandbox that is named */
#define COMPLETE_MARKS "@marks"   /* likewise, for `bawn undo` */
#define COMPLETE_STATES "@states" /* a sandbox, then labels of it */
#define COMPLETE_RUN "@run"       /* agents, sandboxes and folders */
#define COMPLETE_COPY "@copy"     /* "sandbox:" and files */
#define COMPLETE_FILES "@files"
#define COMPLETE_FOLDERS "@folders"

enum command_flags {
	COMMAND_TAKES_REST = 1 << 0,  /* words after "--" are kept apart */
	COMMAND_STOPS_EARLY = 1 << 1, /* all after the first word is the rest */
	COMMAND_HIDDEN = 1 << 2,      /* not in the help */
	COMMAND_USES_STORE = 1 << 3,  /* leftovers are cleaned before it */
	COMMAND_RAW = 1 << 5,         /* all words are the rest, also options */
};

#define COMMAND_ANY_WORDS 1000000

struct command {
	const char *name;      /* one word or two: "run", "template ls" */
	const char *arguments; /* "[AGENT] [PATH…] [-- ARGS…]" */
	const char *help;      /* one line */
	const char *details;   /* more for --help; may be NULL */
	const struct option_row *options; /* may be NULL */
	/* shared with others; or NULL */
	const struct option_row *options_too, *options_more;
	const char *completes; /* what its words are */
	unsigned flags;
	size_t min_words, max_words;
	int failure_code; /* exit code of our own failures: 1 or 125 */
	int usage_code;   /* of a wrong command line; 0: 2 */
	/* The exit code, or -1 with err set. */
	int (*run)(const struct options *options, struct error *err);
};

struct option_given {
	const struct option_row *row;
	const char *value; /* NULL for a flag */
};

struct options {
	const struct command *command;
	struct option_given *given;
	size_t given_count;
	const char **words; /* NULL-terminated */
	size_t word_count;
	const char **rest; /* NULL-terminated; NULL when there was no "--" */
	size_t rest_count;
	bool help;  /* --help was given: nothing was checked further */
	bool debug; /* -D */
};

/* err->code of a usage error: exit code 2. No errno value. */
#define OPTIONS_USAGE (-2)

/* Rows that every command has: --help and --debug. */
extern const struct option_row options_global[];

/* Each row in turn, the global ones last; *at starts at 0. */
const struct option_row *options_row(const struct command *command, size_t *at);

/*
 * The arguments are borrowed; argv does not hold the command's name. Release
 * the options also after a failure.
 */
int options_parse(const struct command *command, int argc,
		  const char *const *argv, struct options *options,
		  struct error *err);
void options_release(struct options *options);

bool options_flag(const struct options *options, const char *name);
/* The last value, or NULL. */
const char *options_value(const struct options *options, const char *name);
/* Each value of a repeatable option in turn; *at starts at 0. */
const char *options_next(const struct options *options, const char *name,
			 size_t *at);

/* Always returns -1: "fmt", as a usage error. */
int options_usage(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes --help of a command. */
struct buffer;
void options_help(const struct command *command, struct buffer *out);

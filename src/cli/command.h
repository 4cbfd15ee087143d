/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the table of commands, and what they share
 */
#pragma once

#include "cli/options.h"

struct buffer;
struct error;

/* What a command returns, with err set, besides -1. */
#define COMMAND_NOT_EXECUTABLE (-126)
#define COMMAND_NOT_FOUND (-127)

/* Ends in a row without a name. */
extern const struct command *const command_rows[];

/*
 * The command that argv begins with; *words is how many of argv name it.
 * NULL with a usage error otherwise. A first word that has subcommands, alone
 * or with --help, gives NULL and *group is that word.
 */
const struct command *command_find(int argc, const char *const *argv,
				   int *words, const char **group,
				   struct error *err);
/* "bawn help": all commands. */
void command_overview(struct buffer *out);
/* "bawn template --help": the subcommands with their options. */
void command_group_help(const char *group, struct buffer *out);

extern const struct command command_apply;
extern const struct command command_checkpoint;
extern const struct command command_checkpoint_ls;
extern const struct command command_checkpoint_rm;
extern const struct command command_completion;
extern const struct command command_complete;
extern const struct command command_cp;
extern const struct command command_create;
extern const struct command command_diff;
extern const struct command command_discard;
extern const struct command command_doctor;
extern const struct command command_env;
extern const struct command command_events;
extern const struct command command_exec;
extern const struct command command_fork;
extern const struct command command_save;
extern const struct command command_help;
extern const struct command command_init;
extern const struct command command_inspect;
extern const struct command command_logs;
extern const struct command command_loop;
extern const struct command command_loop_report;
extern const struct command command_ls;
extern const struct command command_mcp;
extern const struct command command_mount;
extern const struct command command_network_log;
extern const struct command command_network_proxy;
extern const struct command command_options;
extern const struct command command_policy_allow;
extern const struct command command_policy_approvals;
extern const struct command command_policy_check;
extern const struct command command_policy_deny;
extern const struct command command_policy_init;
extern const struct command command_policy_learn;
extern const struct command command_policy_log;
extern const struct command command_policy_ls;
extern const struct command command_policy_rm;
extern const struct command command_ports;
extern const struct command command_prune;
extern const struct command command_ralph; /* not in the table */
extern const struct command command_remove_later;
extern const struct command command_reset;
extern const struct command command_restore;
extern const struct command command_review;
extern const struct command command_rm;
extern const struct command command_run;
extern const struct command command_secret_ls;
extern const struct command command_secret_rm;
extern const struct command command_secret_login;
extern const struct command command_secret_set;
extern const struct command command_stop;
extern const struct command command_template_build;
extern const struct command command_template_inspect;
extern const struct command command_template_load;
extern const struct command command_template_ls;
extern const struct command command_template_prune;
extern const struct command command_template_pull;
extern const struct command command_template_push;
extern const struct command command_template_rm;
extern const struct command command_template_save;
extern const struct command command_template_tag;
extern const struct command command_top;
extern const struct command command_umount;
extern const struct command command_undo;
extern const struct command command_version;
/* The options of every listing. */
extern const struct option_row command_list_rows[];

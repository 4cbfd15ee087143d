/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - what `run` and `create` were asked for, and which sandbox that
 * means
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/rule_words.h"
#include "provision/template_pull.h"
#include "state/port_list.h"
#include "state/share_list.h"
#include "state/socket_list.h"

struct buffer;
struct error;
struct options;
struct sandbox;
struct store;

struct request {
	json_t *agents;    /* owned; agents.h */
	const char *agent; /* canonical name; NULL: not given */
	const char *name;  /* --name, or the sandbox that was named; NULL */
	bool must_exist;   /* name was given as `run NAME` */
	/* owned; the first is the workspace; empty when a sandbox was named */
	struct share_list shares;
	bool shares_given;
	const char *mode;  /* direct, overlay or clone; NULL: not given */
	bool with_changes; /* clone mode: uncommitted work too */
	char **hide;       /* owned, NULL-terminated; NULL: not given */
	uint64_t quota_bytes, quota_inodes;
	bool quota_given;
	bool force;          /* "/" and the home folder may be shared */
	char *template_name; /* owned, canonical; NULL: not given */
	enum template_policy pull;
	bool ask_engine;           /* --load-local-template */
	const char *accel;         /* NULL: not given */
	unsigned cpus, memory_mib; /* 0: not given */
	uint64_t disk_bytes;       /* 0: not given */
	bool cold, remove_at_end;
	const char *preset;         /* --policy; NULL: not given */
	struct rule_words rules;    /* --allow, --deny, --inspect; owned */
	struct port_list ports;     /* host 0: any that is free */
	struct socket_list sockets; /* owned */
	bool ask;
	bool no_git_identity; /* --git-identity off */
	bool git_identity_given;
	char *ssh_keys; /* owned: of --ssh-agent; NULL: not given */
};

#define REQUEST_DEFAULT_AGENT "shell"
#define REQUEST_DEFAULT_TEMPLATE "base"
#define REQUEST_DEFAULT_MODE "direct"

/* Texts are borrowed from options. Release it also after a failure. */
int request_parse(const struct options *options, const struct store *store,
		  struct request *request, struct error *err);
void request_release(struct request *request);
#define AUTO_REQUEST __attribute__((cleanup(request_release)))

const char *request_agent(const struct request *request);
/* What was given, or what the agent runs in. */
const char *request_template(const struct request *request);
/* For a new sandbox: no word for an agent is one. */
int request_check_name(const struct request *request, const char *name,
		       struct error *err);

/* A word that is a PATH; the first is the workspace. */
int request_take_path(struct request *request, const char *word,
		      struct error *err);
/* -v, --workspace-mode, --hide, --quota; the current folder where none is. */
int request_take_shares(const struct options *options, bool needs_workspace,
			struct request *request, struct error *err);

/* --policy, --allow, --deny, --inspect, --ask, -p, --socket. */
int request_take_net(const struct options *options, const struct store *store,
		     struct request *request, struct error *err);
/*
 * What a new sandbox's file of rules begins with; "" when nothing was given.
 * Under the docker spelling a file of the user's may say more.
 */
int request_policy(const struct request *request, const struct store *store,
		   struct buffer *text, struct error *err);
int request_compare_net(const struct request *request,
			const struct sandbox *sandbox, struct error *err);

/* --git-identity, --ssh-agent. */
int request_take_git(const struct options *options, struct request *request,
		     struct error *err);
int request_compare_git(const struct request *request,
			const struct sandbox *sandbox, struct error *err);

/* What was given about folders and differs from the sandbox's is an error. */
int request_compare_shares(const struct request *request,
			   const struct sandbox *sandbox, struct error *err);
/* The error that shows both values; always -1. */
int request_differs(const struct sandbox *sandbox, const char *what,
		    const char *has, const char *asked, struct error *err);

/*
 * 1 and the sandbox when there is one for this request, 0 when one must be
 * made, -1 when there is one that differs from what was asked for, or none of
 * that name.
 */
int request_find(const struct request *request, const struct store *store,
		 struct sandbox *sandbox, struct error *err);
/* A free name for a new sandbox; malloc'd. Call it under store_lock(). */
char *request_new_name(const struct request *request, const struct store *store,
		       struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp_filter.c - system calls by name: listed ones pass, others kill
 *
 * Names that this architecture does not have are skipped, so that one list
 * serves all.
 */
#include "isolate/isolate_internal.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
/* CLONE_NEWTIME shares its bit with the exit signal of clone and is not
 * accepted there; unshare, which accepts it, is a call of its own. */
#define CLONE_NEW_ANY                                                 \
	(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
	 CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWCGROUP)

#define ARGUMENTS 6 /* that a system call has */

AUTO_DEFINE(filter, scmp_filter_ctx, seccomp_release)

/* Negative: unknown here. */
static int number_of(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	return number < 0 ? -1 : number;
}

static int allow_name(scmp_filter_ctx filter, const char *name,
		      struct error *err)
{
	int number = number_of(name), failed;

	if (number < 0 || strcmp(name, "clone3") == 0)
		return 0;
	if (strcmp(name, "clone") == 0)
		failed = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, number, 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEW_ANY, 0));
	else
		failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	if (failed < 0)
		return error_set(err, -failed, "seccomp rule for %s", name);
	return 0;
}

/* Of rows that belong together; returns the last of them, NULL on failure. */
static const struct isolate_argument *
allow_arguments(scmp_filter_ctx filter, const struct isolate_argument *rule,
		struct error *err)
{
	struct scmp_arg_cmp compare[ARGUMENTS];
	const char *name = rule->syscall;
	int number = number_of(name), failed = 0;
	unsigned count = 0;

	for (;; rule++) {
		uint64_t value = rule->value == ISOLATE_OWN_PID
					 ? (uint64_t)getpid()
					 : rule->value;

		compare[count++] =
			SCMP_CMP(rule->index & ~ISOLATE_AND, SCMP_CMP_MASKED_EQ,
				 rule->mask, value);
		if (!(rule->index & ISOLATE_AND) || count == ARGUMENTS)
			break;
	}
	if (number >= 0)
		failed = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number,
						count, compare);
	if (failed < 0) {
		error_set(err, -failed, "seccomp rule for %s", name);
		return NULL;
	}
	return rule;
}

static int answer_enosys(scmp_filter_ctx filter, const char *name,
			 struct error *err)
{
	int number = number_of(name), failed;

	if (number < 0)
		return 0;
	failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
	/* Listed twice: the first one stands. */
	if (failed < 0 && failed != -EEXIST)
		return error_set(err, -failed, "seccomp rule for %s", name);
	return 0;
}

static int refuse(scmp_filter_ctx filter, const struct isolate_refusal *rule,
		  struct error *err)
{
	struct scmp_arg_cmp compare =
		SCMP_CMP(rule->when.index, SCMP_CMP_MASKED_EQ, rule->when.mask,
			 rule->when.value);
	int number = number_of(rule->when.syscall), failed;

	if (number < 0)
		return 0;
	failed = seccomp_rule_add_array(filter,
					SCMP_ACT_ERRNO((unsigned)rule->error),
					number, 1, &compare);
	if (failed < 0)
		return error_set(err, -failed, "seccomp rule for %s",
				 rule->when.syscall);
	return 0;
}

static int add_rules(scmp_filter_ctx filter,
		     const struct isolate_profile *profile, struct error *err)
{
	const char *const *name;

	for (name = profile->syscalls; name && *name; name++) {
		if (allow_name(filter, *name, err) < 0)
			return -1;
	}
	for (const struct isolate_argument *rule = profile->arguments;
	     rule && rule->syscall; rule++) {
		rule = allow_arguments(filter, rule, err);
		if (!rule)
			return -1;
	}
	for (name = profile->syscalls_enosys; name && *name; name++) {
		if (answer_enosys(filter, *name, err) < 0)
			return -1;
	}
	for (const struct isolate_refusal *rule = profile->refusals;
	     rule && rule->when.syscall; rule++) {
		if (refuse(filter, rule, err) < 0)
			return -1;
	}
	return answer_enosys(filter, "clone3", err);
}

int seccomp_filter_load(const struct isolate_profile *profile,
			struct error *err)
{
	AUTO(filter)
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int failed;

	if (!filter)
		return error_set(err, ENOMEM, "seccomp");
	/* 32-bit and x32 calls reach the kernel by other numbers. */
	seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
			 SCMP_ACT_KILL_PROCESS);
	/* Threads that run already are not left out. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (add_rules(filter, profile, err) < 0)
		return -1;
	failed = seccomp_load(filter);
	if (failed < 0)
		return error_set(err, -failed, "seccomp");
	return 0;
}

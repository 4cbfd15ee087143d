/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_driver.c - many decisions, for bench/policy.py to count instructions
 *
 * usage: policy_driver SEED RULES TARGETS
 * Prints a line for each decision, in the order in which measured() ran.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/policy_random.h"
#include "policy/policy.h"

static const char *const kinds[] = { "connect", "request", "resolved" };

static struct policy *compile(struct random_source *source,
			      struct random_rule *rules, size_t count)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(POLICY_TEXT_MAX);
	struct policy_source one = { .scope = POLICY_GLOBAL, .name = "random" };
	struct policy *policy;
	struct error err;

	for (size_t i = 0; i < count; i++) {
		random_make_rule(source, &rules[i]);
		buffer_printf(&text, "%s\n", rules[i].text);
	}
	one.text = buffer_str(&text);
	one.len = text.len;
	policy = policy_compile(&one, 1, &err);
	if (!policy) {
		fprintf(stderr, "policy_driver: %s\n", err.text);
		exit(1);
	}
	return policy;
}

/* The only function whose instructions are counted; see bench/policy.py. */
struct policy_verdict __attribute__((noinline))
measured(const struct policy *policy, const struct random_target *target,
	 unsigned kind);

struct policy_verdict measured(const struct policy *policy,
			       const struct random_target *target,
			       unsigned kind)
{
	struct policy_request request = {
		.name = target->is_name ? target->name : NULL,
		.address = target->is_name ? NULL : &target->address,
		.port = target->port,
		.method = target->method,
		.path = target->path,
	};

	if (kind == 1)
		return policy_decide_request(policy, &request);
	if (kind == 2)
		return policy_decide_resolved(policy, "name.example",
					      &target->address, target->port);
	if (target->is_name)
		return policy_decide_name(policy, target->name, target->port);
	return policy_decide_address(policy, &target->address, target->port);
}

static void decide(const struct policy *policy,
		   const struct random_target *target, unsigned kind)
{
	struct policy_verdict verdict = measured(policy, target, kind);
	char where[ADDRESS_TEXT_SIZE] = "";

	if (!target->is_name)
		address_format(&target->address, where);
	printf("%s %d %s:%u%s\n", kinds[kind], verdict.answer,
	       target->is_name ? target->name : where, target->port,
	       kind == 1 ? target->path : "");
}

int main(int argc, char **argv)
{
	struct random_source source = { .shape = { .labels = 200,
						   .name_depth = 4,
						   .segments = 60,
						   .path_depth = 3,
						   .wild = 20,
						   .ports = 5000,
						   .networks = 250,
						   .min_bits = 8 } };
	uint64_t rule_count, target_count;
	AUTO_FREE struct random_rule *rules = NULL;
	struct policy *policy;

	if (argc != 4 ||
	    text_to_u64(argv[1], 0, UINT64_MAX, &source.state) < 0 ||
	    text_to_u64(argv[2], 1, POLICY_RULES_MAX, &rule_count) < 0 ||
	    text_to_u64(argv[3], 1, 1000000, &target_count) < 0) {
		fprintf(stderr, "usage: policy_driver SEED RULES TARGETS\n");
		return 2;
	}
	rules = xcalloc(rule_count, sizeof(*rules));
	policy = compile(&source, rules, rule_count);
	for (uint64_t i = 0; i < target_count; i++) {
		unsigned near = random_below(&source, (unsigned)rule_count);
		struct random_target target;

		random_make_target(&source, &rules[near], &target);
		decide(policy, &target, 0);
		decide(policy, &target, 1);
		if (!target.is_name)
			decide(policy, &target, 2);
	}
	policy_free(policy);
	return 0;
}

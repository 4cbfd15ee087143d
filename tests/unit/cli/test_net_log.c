/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_net_log.c - lines of bawn-net: what is believed, and what comes of it
 */
#include "cli/net_log.h"
#include "cli/net_summary.h"
#include "lib/tap.h"

#define HEAD "{\"time\":\"2026-01-02T03:04:05Z\",\"sandbox\":\"s\","
#define TLS "\"protocol\":\"tls\","
#define ALLOW "\"verdict\":\"allow\""
#define DENY "\"verdict\":\"deny\""

static struct net_log_entry entry;

/* The target that the line tells of; "" when it is not believed. */
static const char *target_of(const char *line)
{
	static char target[NET_LOG_TARGET_SIZE];

	target[0] = '\0';
	if (net_log_decode(line, strlen(line), &entry) < 0)
		return target;
	net_log_target(&entry, target);
	net_log_release(&entry);
	return target;
}

static const char *wish_of(const char *line)
{
	static char wish[NET_LOG_TARGET_SIZE];

	wish[0] = '\0';
	if (net_log_decode(line, strlen(line), &entry) < 0)
		return wish;
	if (net_log_wish(&entry, wish) < 0)
		wish[0] = '\0';
	net_log_release(&entry);
	return wish;
}

static void targets_are_names_or_addresses_with_a_port(void)
{
	CHECK(!strcmp(target_of(HEAD TLS
				"\"name\":\"a.example\",\"address\":null,"
				"\"port\":443," ALLOW "}"),
		      "a.example:443"));
	CHECK(!strcmp(target_of(HEAD TLS "\"name\":null,\"address\":\"192.0.2."
					 "1\",\"port\":22," DENY "}"),
		      "192.0.2.1:22"));
	CHECK(!strcmp(target_of(HEAD TLS
				"\"address\":\"2001:db8::1\",\"port\":80," DENY
				"}"),
		      "[2001:db8::1]:80"));
}

static void a_line_that_is_not_as_it_must_be_is_not_believed(void)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"{}",
		HEAD TLS "\"verdict\":\"maybe\",\"port\":1}",
		HEAD ALLOW "}",
		HEAD TLS ALLOW ",\"port\":65536}",
		HEAD TLS ALLOW ",\"port\":-1}",
		HEAD TLS ALLOW ",\"port\":\"1\"}",
		HEAD TLS ALLOW ",\"port\":1,\"name\":5}",
		HEAD TLS ALLOW ",\"port\":1,\"name\":\"A.example\"}",
		HEAD TLS ALLOW ",\"port\":1,\"name\":\"a\\u001b[2J\"}",
		HEAD TLS ALLOW ",\"port\":1,\"address\":\"1.2.3\"}",
		HEAD TLS ALLOW "," ALLOW "}",
		HEAD TLS ALLOW ",\"bytes_in\":-5}",
		HEAD TLS ALLOW ",\"status\":1000}",
		HEAD TLS ALLOW ",\"query\":5}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(net_log_decode(bad[i], strlen(bad[i]), &entry) < 0);
}

static void a_line_cut_anywhere_is_not_believed(void)
{
	static const char line[] = HEAD TLS
		"\"name\":\"a.example\",\"port\":443,\"rule\":null," ALLOW "}";

	for (size_t len = 0; len < sizeof(line) - 1; len++) {
		char *exact = malloc(len + 1);

		memcpy(exact, line, len);
		CHECK(net_log_decode(exact, len, &entry) < 0);
		free(exact);
	}
	CHECK(!strcmp(target_of(line), "a.example:443"));
}

static void the_wish_is_the_shortest_rule_that_would_do(void)
{
	CHECK(!strcmp(wish_of(HEAD TLS
			      "\"name\":\"a.example\",\"port\":443," DENY "}"),
		      "a.example"));
	CHECK(!strcmp(wish_of(HEAD TLS
			      "\"name\":\"a.example\",\"port\":8443," DENY "}"),
		      "a.example:8443"));
	CHECK(!strcmp(wish_of(HEAD TLS "\"name\":\"host.docker.internal\","
				       "\"port\":5432," DENY "}"),
		      "localhost:5432"));
	CHECK(!strcmp(wish_of(HEAD TLS
			      "\"name\":\"localhost\",\"port\":80," DENY "}"),
		      "localhost:80"));
	CHECK(!strcmp(wish_of(HEAD TLS
			      "\"address\":\"192.0.2.1\",\"port\":443," DENY
			      "}"),
		      "192.0.2.1:443"));
	CHECK(!strcmp(wish_of(HEAD TLS "\"name\":\"a.example\",\"port\":443,"
				       "\"address\":\"10.0.0.1\"," DENY "}"),
		      "10.0.0.1:443"));
	CHECK(!strcmp(wish_of(HEAD TLS "\"name\":\"a.example\",\"port\":443,"
				       "\"rule\":\"allow a.example\","
				       "\"address\":\"2001:db8::1\"," DENY "}"),
		      "[2001:db8::1]:443"));
	CHECK(!strcmp(wish_of(HEAD TLS "\"name\":\"a.example\",\"port\":443,"
				       "\"address\":\"192.0.2.1\"," DENY "}"),
		      "a.example"));
	CHECK(!strcmp(wish_of(HEAD "\"protocol\":\"dns\",\"name\":\"a.example\""
				   "," DENY "}"),
		      ""));
}

static void add(struct net_summary *summary, const char *line)
{
	if (net_log_decode(line, strlen(line), &entry) < 0)
		return;
	net_summary_add(summary, &entry);
	net_log_release(&entry);
}

static const char *at(const json_t *list, size_t i, const char *key)
{
	const char *text = json_string_value(
		json_object_get(json_array_get(list, i), key));

	return text ? text : "";
}

static void a_summary_counts_hosts_by_verdict(void)
{
	AUTO_NET_SUMMARY struct net_summary summary = NET_SUMMARY_INIT;
	json_t *list;

	add(&summary, "{\"time\":\"1\",\"sandbox\":\"s\"," TLS
		      "\"name\":\"a.example\",\"port\":443," DENY "}");
	add(&summary, "{\"time\":\"2\",\"sandbox\":\"s\"," TLS
		      "\"name\":\"b.example\",\"port\":443," DENY "}");
	add(&summary, "{\"time\":\"3\",\"sandbox\":\"s\"," TLS
		      "\"name\":\"a.example\",\"port\":443," DENY "}");
	add(&summary, "{\"time\":\"4\",\"sandbox\":\"s\"," TLS
		      "\"rule\":\"allow c.example\",\"name\":\"c.example\","
		      "\"port\":443," ALLOW "}");
	add(&summary, "{\"time\":\"5\",\"sandbox\":\"s\",\"protocol\":\"dns\","
		      "\"name\":\"c.example\"," ALLOW "}");
	list = net_summary_list(&summary, true, 0);
	CHECK(json_array_size(list) == 2);
	CHECK(!strcmp(at(list, 0, "host"), "a.example:443"));
	CHECK(!strcmp(at(list, 0, "last_seen"), "3"));
	CHECK(!strcmp(at(list, 0, "since"), "1"));
	CHECK(json_integer_value(
		      json_object_get(json_array_get(list, 0), "count")) == 2);
	json_decref(list);
	list = net_summary_list(&summary, true, 1);
	CHECK(json_array_size(list) == 1);
	json_decref(list);
	list = net_summary_list(&summary, false, 0);
	CHECK(json_array_size(list) == 1);
	CHECK(!strcmp(at(list, 0, "rule"), "allow c.example"));
	json_decref(list);
}

int main(void)
{
	RUN(targets_are_names_or_addresses_with_a_port);
	RUN(a_line_that_is_not_as_it_must_be_is_not_believed);
	RUN(a_line_cut_anywhere_is_not_believed);
	RUN(the_wish_is_the_shortest_rule_that_would_do);
	RUN(a_summary_counts_hosts_by_verdict);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_proxy_config.c - policy in the shape of proxy-config.json
 */
#include "base/buffer.h"
#include "base/error.h"
#include "cli/proxy_config.h"
#include "lib/tap.h"

#define TEXT_MAX 4096

static struct error err;

/* The policy that a file means, NULL when it is refused; until the next call */
static const char *read_text(const char *text, size_t len)
{
	static struct buffer policy;

	buffer_release(&policy);
	buffer_init(&policy, TEXT_MAX);
	if (proxy_config_read(text, len, &policy, &err) < 0)
		return NULL;
	return buffer_str(&policy);
}

#define READ(text) read_text(text, strlen(text))
#define NETWORK(inner) "{\"policy\":\"deny\",\"network\":{" inner "}}"

static void every_list_becomes_rules(void)
{
	const char *policy =
		READ("{\"policy\":\"allow\",\"network\":{"
		     "\"allowedDomains\":[\"Api.Example.com\",\"*.x.org\","
		     "\"localhost:5432\"],"
		     "\"blockedDomains\":[\"bad.example\"],"
		     "\"blockCIDR\":[\"192.168.0.0/16\"]}}");

	REQUIRE(policy);
	CHECK(!strcmp(policy, "preset deny-all\ndefault allow\n"
			      "allow api.example.com\nallow *.x.org\n"
			      "allow localhost:5432\ndeny bad.example\n"
			      "deny 192.168.0.0/16\n"));
}

static void lists_may_be_missing(void)
{
	const char *policy = READ("{\"policy\":\"deny\"}");

	REQUIRE(policy);
	CHECK(!strcmp(policy, "preset deny-all\ndefault deny\n"));
	CHECK(READ(NETWORK("")));
	CHECK(READ("{\"policy\":\"deny\",\"network\":null}"));
	CHECK(READ(NETWORK("\"allowedDomains\":null")));
}

static void ranges_that_are_closed_anyway_are_not_rules(void)
{
	const char *policy = READ(NETWORK(
		"\"blockCIDR\":[\"10.0.0.0/8\",\"172.16.0.0/12\","
		"\"192.168.0.0/16\",\"127.0.0.0/8\",\"169.254.0.0/16\","
		"\"::1/128\",\"fc00::/7\",\"fe80::/10\",\"192.0.2.0/24\"],"
		"\"allowedDomains\":[\"localhost:1\"]"));

	REQUIRE(policy);
	CHECK(!strcmp(policy, "preset deny-all\ndefault deny\n"
			      "allow localhost:1\ndeny 192.0.2.0/24\n"));
}

static void what_is_not_the_shape_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"null",
		"{}",
		"{\"policy\":\"maybe\"}",
		"{\"policy\":true}",
		"{\"policy\":\"deny\",\"policy\":\"allow\"}",
		"{\"policy\":\"deny\",\"extra\":1}",
		"{\"policy\":\"deny\",\"network\":[]}",
		"{\"policy\":\"deny\"} x",
		NETWORK("\"blockPorts\":[]"),
		NETWORK("\"allowedDomains\":\"x.org\""),
		NETWORK("\"allowedDomains\":[1]"),
		NETWORK("\"allowedDomains\":[\"\"]"),
		NETWORK("\"allowedDomains\":[\"deny x.org\"]"),
		NETWORK("\"allowedDomains\":[\"GET x.org\"]"),
		NETWORK("\"allowedDomains\":[\"x.org\\nallow **\"]"),
		NETWORK("\"allowedDomains\":[\"x.org#\"]"),
		NETWORK("\"allowedDomains\":[\"x.org/path\"]"),
		NETWORK("\"allowedDomains\":[\"x.org\\u0000\"]"),
		NETWORK("\"allowedDomains\":[\"localhost\"]"),
		NETWORK("\"allowedDomains\":[\"-\"]"),
		NETWORK("\"blockCIDR\":[\"1.2.3.4/33\"]"),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(!READ(bad[i]));
		if (READ(bad[i]))
			printf("# %s\n", bad[i]);
	}
}

static void an_error_names_the_place_and_is_printable(void)
{
	CHECK(!READ(NETWORK("\"blockedDomains\":[\"a\\u001b[2J\"]")));
	CHECK(strstr(err.text, "blockedDomains") && !strchr(err.text, '\033'));
	CHECK(!READ("{\n\n\"policy\"\n"));
	CHECK(strstr(err.text, "line "));
}

static void a_file_cut_anywhere_is_refused(void)
{
	static const char text[] =
		NETWORK("\"allowedDomains\":[\"x.org\"],\"blockCIDR\":[]");

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		char *exact = malloc(len + 1);

		memcpy(exact, text, len);
		CHECK(!read_text(exact, len));
		free(exact);
	}
	CHECK(READ(text));
}

static void rules_become_lists_that_open_nothing_more(void)
{
	static const char policy[] = "preset balanced\n"
				     "allow x.org # why\n"
				     "x.org\n"
				     "bypass y.org:443\n"
				     "inspect i.org\n"
				     "allow GET g.org\n"
				     "allow p.org/a/**\n"
				     "deny POST d.org\n"
				     "deny 192.0.2.0/24\n"
				     "deny 192.0.2.1:22\n"
				     "allow 198.51.100.0/24\n"
				     "not a rule at all\n";
	json_t *config = proxy_config_new(false);
	char *text;

	proxy_config_add(config, policy, sizeof(policy) - 1);
	text = json_dumps(config, JSON_COMPACT);
	CHECK(text &&
	      !strcmp(text, "{\"policy\":\"deny\",\"network\":{"
			    "\"allowedDomains\":[\"x.org\",\"y.org:443\","
			    "\"198.51.100.0/24\"],"
			    "\"blockedDomains\":[\"d.org\",\"192.0.2.1:22\"],"
			    "\"blockCIDR\":[\"192.0.2.0/24\"]}}"));
	if (text)
		printf("# %s\n", text);
	CHECK(text && READ(text));
	free(text);
	json_decref(config);
}

int main(void)
{
	RUN(every_list_becomes_rules);
	RUN(lists_may_be_missing);
	RUN(ranges_that_are_closed_anyway_are_not_rules);
	RUN(what_is_not_the_shape_is_refused);
	RUN(an_error_names_the_place_and_is_printable);
	RUN(a_file_cut_anywhere_is_refused);
	RUN(rules_become_lists_that_open_nothing_more);
	read_text("", 0);
	return DONE();
}

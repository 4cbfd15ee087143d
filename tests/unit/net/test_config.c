/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_config.c - what the launcher tells bawn-net
 */
#include "net/config.h"

#include "base/error.h"
#include "base/text.h"
#include "lib/tap.h"
#include "policy/policy.h"

#define HEX32 "0123456789abcdef0123456789abcdef"
#define START                                                                \
	"\"sandbox\":\"box\",\"marker\":null,\"next_marker\":\"" HEX32 HEX32 \
	"\","
#define POLICY                                                                \
	"\"policy\":[{\"scope\":\"sandbox\",\"name\":\"f\",\"text\":\"allow " \
	"a.example\\n\"}],"
#define REST                                                             \
	"\"preset\":\"balanced\",\"ask_ms\":5000,"                       \
	"\"resolver\":{\"servers\":[\"192.0.2.1\",\"[2001:db8::1]:54\"," \
	"\"192.0.2.2:5353\",\"fe80::1%eth0\"],"                          \
	"\"hosts\":[[\"h.example\",\"203.0.113.1\"]]},"                  \
	"\"proxy\":{\"http\":\"http://p.example:1\",\"https\":null,"     \
	"\"no_proxy\":\"x.example\"},"                                   \
	"\"addresses\":[\"203.0.113.200\",\"fe80::1%eth0\"],"            \
	"\"published\":[{\"id\":3,\"port\":8080}],"                      \
	"\"sockets\":[\"/run/a.sock\"]"

static struct error err;

static struct config *parse(const char *text, enum config_kind kind)
{
	err = (struct error){ 0 };
	return config_parse(text, strlen(text), kind, &err);
}

static bool refused(const char *text, const char *why)
{
	struct config *config = parse(text, CONFIG_CHANGE);

	config_free(config);
	if (!config && strstr(err.text, why))
		return true;
	printf("# %s\n", err.text);
	return false;
}

static void a_whole_start_message(void)
{
	struct config *config =
		parse("{" START "\"uid\":61234," POLICY REST "}", CONFIG_START);
	struct address found[1];

	REQUIRE(config);
	CHECK(!strcmp(config->sandbox, "box") && config->uid == 61234);
	CHECK(!config->has_marker && config->next_marker[1] == 0x23);
	CHECK(policy_rule_count(config->policy) == 1);
	CHECK(config->ask_ms == 5000);
	CHECK(!strcmp(config->servers,
		      "192.0.2.1,[2001:db8::1]:54,192.0.2.2:5353"));
	CHECK(hosts_table_find(&config->hosts, "h.example", found, 1) == 1);
	CHECK(config->has_http_proxy && !config->has_https_proxy);
	CHECK(config->http_proxy.kind == PROXY_HTTP);
	CHECK(!strcmp(config->no_proxy, "x.example"));
	CHECK(config->published_count == 1 && config->published[0].id == 3);
	CHECK(config->published[0].port == 8080);
	CHECK(config->socket_count == 1);
	config_free(config);
}

static void the_hosts_own_addresses_are_guarded(void)
{
	struct config *config =
		parse("{\"policy\":[{\"scope\":\"global\",\"name\":\"g\","
		      "\"text\":\"allow **\"}]," REST "}",
		      CONFIG_CHANGE);
	struct address own = { ADDRESS_V4, { 203, 0, 113, 200 } };
	struct address other = { ADDRESS_V4, { 203, 0, 113, 201 } };

	REQUIRE(config);
	CHECK(policy_decide_resolved(config->policy, "a.example", &own, 443)
		      .answer == POLICY_DENY);
	CHECK(policy_decide_resolved(config->policy, "a.example", &other, 443)
		      .answer == POLICY_ALLOW);
	config_free(config);
}

static void a_marker_is_read(void)
{
	struct config *config =
		parse("{\"sandbox\":\"b\",\"marker\":\"" HEX32 HEX32
		      "\",\"next_marker\":\"" HEX32 HEX32 "\"," POLICY REST "}",
		      CONFIG_START);

	REQUIRE(config);
	CHECK(config->has_marker && config->marker[0] == 0x01);
	CHECK(config->uid == 0);
	config_free(config);
}

static void rules_that_are_wrong_name_their_line(void)
{
	CHECK(refused("{\"policy\":[{\"scope\":\"sandbox\",\"name\":\"file\","
		      "\"text\":\"allow a.example\\nallow a..b\\n\"}]," REST
		      "}",
		      "file"));
	CHECK(strstr(err.text, "2"));
}

static void what_is_not_as_written_is_refused(void)
{
	CHECK(refused("", "not a JSON object"));
	CHECK(refused("[]", "not a JSON object"));
	CHECK(refused("{" POLICY REST "} x", "not a JSON object"));
	CHECK(refused("{" POLICY REST ",\"preset\":\"x\"}",
		      "not a JSON object"));
	CHECK(refused("{" POLICY REST ",\"other\":1}", "unknown key"));
	/* What belongs to the start cannot be changed later. */
	CHECK(refused("{" POLICY REST ",\"uid\":5}", "unknown key"));
	CHECK(refused("{" REST "}", "no policy"));
	CHECK(refused("{\"policy\":{}," REST "}", "policy is no list"));
	CHECK(refused("{\"policy\":[{\"scope\":\"x\",\"name\":\"\",\"text\":"
		      "\"\"}]," REST "}",
		      "malformed"));
	CHECK(refused("{\"policy\":[{\"scope\":\"once\",\"name\":\"\","
		      "\"text\":\"\",\"x\":1}]," REST "}",
		      "malformed"));
}

static void a_start_needs_its_own_keys(void)
{
	CHECK(!parse("{" POLICY REST "}", CONFIG_START));
	CHECK(strstr(err.text, "start"));
	CHECK(!parse(
		"{\"sandbox\":\"b\",\"marker\":\"12\",\"next_marker\":\"" HEX32
			HEX32 "\"," POLICY REST "}",
		CONFIG_START));
	CHECK(strstr(err.text, "marker"));
	CHECK(!parse(
		"{\"sandbox\":\"b\",\"marker\":5,\"next_marker\":\"" HEX32 HEX32
		"\"," POLICY REST "}",
		CONFIG_START));
}

static void the_authority_belongs_to_the_start(void)
{
	static const char good[] =
		"{" START POLICY REST ",\"ca\":{\"certificate\":\"A\",\"key\":"
		"\"B\"}}";
	struct config *config = parse(good, CONFIG_START);

	REQUIRE(config);
	CHECK(!strcmp(config->ca_certificate, "A"));
	CHECK(!strcmp(config->ca_key, "B"));
	config_forget_key(config);
	CHECK(!config->ca_key);
	config_free(config);
	CHECK(refused("{" POLICY REST ",\"ca\":null}", "unknown key"));
	CHECK(!parse("{" START POLICY REST ",\"ca\":{\"key\":\"B\"}}",
		     CONFIG_START));
	CHECK(strstr(err.text, "authority"));
	for (size_t len = 0; len < sizeof(good) - 1; len++)
		CHECK(!config_parse(good, len, CONFIG_START, &err));
}

static void every_cut_is_refused(void)
{
	static const char text[] = "{" START POLICY REST "}";

	for (size_t len = 0; len < sizeof(text) - 1; len++)
		CHECK(!config_parse(text, len, CONFIG_START, &err));
}

int main(void)
{
	RUN(a_whole_start_message);
	RUN(the_hosts_own_addresses_are_guarded);
	RUN(a_marker_is_read);
	RUN(rules_that_are_wrong_name_their_line);
	RUN(what_is_not_as_written_is_refused);
	RUN(a_start_needs_its_own_keys);
	RUN(the_authority_belongs_to_the_start);
	RUN(every_cut_is_refused);
	return DONE();
}

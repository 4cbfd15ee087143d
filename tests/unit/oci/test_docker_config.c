/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_docker_config.c - logins of docker's config.json
 */
#include "oci/docker_config.h"

#include "base/error.h"
#include "lib/tap.h"
#include "oci/base64.h"

static struct docker_config_answer answer;
static struct login login;
static struct error err;

static int find(const char *text, const char *host)
{
	return docker_config_find(text, strlen(text), host, &answer, &err);
}

static void logins_are_found_by_every_spelling_of_a_host(void)
{
	/* u:p */
	const char *text =
		"{\"auths\":{"
		"\"https://index.docker.io/v1/\":{\"auth\":\"dTpw\"},"
		"\"reg.example\":{\"auth\":\"dTI6cDI=\"},"
		"\"https://plain.example\":{\"username\":\"a\","
		"\"password\":\"b\"},"
		"\"https://v2.example/v2/\":{\"identitytoken\":"
		"\"I\"},"
		"\"h:5000\":{\"registrytoken\":\"T\"},"
		"\"empty.example\":{}}}";

	CHECK(find(text, "docker.io") == 0);
	CHECK(answer.login.kind == LOGIN_PASSWORD);
	CHECK(!strcmp(answer.login.user, "u"));
	CHECK(!strcmp(answer.login.secret, "p"));
	CHECK(find(text, "reg.example") == 0);
	CHECK(!strcmp(answer.login.user, "u2"));
	CHECK(!strcmp(answer.login.secret, "p2"));
	CHECK(find(text, "plain.example") == 0);
	CHECK(answer.login.kind == LOGIN_PASSWORD);
	CHECK(find(text, "v2.example") == 0);
	CHECK(answer.login.kind == LOGIN_IDENTITY);
	CHECK(find(text, "h:5000") == 0);
	CHECK(answer.login.kind == LOGIN_TOKEN);
	CHECK(!strcmp(answer.login.secret, "T"));
	CHECK(find(text, "empty.example") == 0);
	CHECK(answer.login.kind == LOGIN_NONE);
	CHECK(find(text, "h") == 0 && answer.login.kind == LOGIN_NONE);
	CHECK(find(text, "eg.example") == 0 && answer.login.kind == LOGIN_NONE);
	CHECK(find(text, "x.reg.example") == 0 &&
	      answer.login.kind == LOGIN_NONE);
	CHECK(find("{}", "x") == 0 && answer.login.kind == LOGIN_NONE);
}

static void helpers_are_named(void)
{
	const char *text = "{\"credsStore\":\"pass\",\"credHelpers\":{"
			   "\"gc.example\":\"gcloud\"}}";

	CHECK(find(text, "gc.example") == 0 &&
	      !strcmp(answer.helper, "gcloud"));
	CHECK(find(text, "x.io") == 0 && !strcmp(answer.helper, "pass"));
	CHECK(find("{\"credsStore\":\"../../tmp/x\"}", "x") < 0);
	CHECK(find("{\"credsStore\":\"a b\"}", "x") < 0);
	CHECK(find("{\"credsStore\":\"\"}", "x") == 0 && !answer.helper[0]);
}

static void broken_files_are_errors_and_never_more(void)
{
	const char text[] = "{\"auths\":{\"h\":{\"auth\":\"dTpw\"}}}";

	CHECK(find("", "x") < 0);
	CHECK(find("[]", "x") < 0);
	CHECK(find("{\"auths\":{\"h\":{\"auth\":\"!!!\"}}}", "h") < 0);
	CHECK(find("{\"auths\":{\"h\":{\"auth\":\"dQ==\"}}}", "h") < 0);
	/* "u\0:p" */
	CHECK(find("{\"auths\":{\"h\":{\"auth\":\"dQA6cA==\"}}}", "h") < 0);
	CHECK(find("{\"auths\":[1]}", "h") == 0);
	CHECK(find("{\"auths\":{\"h\":7}}", "h") == 0);
	for (size_t len = 0; len + 1 < sizeof(text); len++)
		CHECK(docker_config_find(text, len, "h", &answer, &err) < 0);
}

static void answers_of_helpers_are_read(void)
{
	const char *good = "{\"ServerURL\":\"x\",\"Username\":\"u\","
			   "\"Secret\":\"s\"}";
	const char *token = "{\"Username\":\"<token>\",\"Secret\":\"s\"}";

	CHECK(docker_config_parse_helper(good, strlen(good), &login, &err) ==
	      0);
	CHECK(login.kind == LOGIN_PASSWORD && !strcmp(login.secret, "s"));
	CHECK(docker_config_parse_helper(token, strlen(token), &login, &err) ==
	      0);
	CHECK(login.kind == LOGIN_IDENTITY);
	CHECK(docker_config_parse_helper("{}", 2, &login, &err) == 0);
	CHECK(login.kind == LOGIN_NONE);
	for (size_t len = 0; len < strlen(good); len++)
		CHECK(docker_config_parse_helper(good, len, &login, &err) < 0);
}

static void base64_has_one_spelling(void)
{
	char out[8];

	CHECK(base64_read("", 0, out, 0) == 0);
	CHECK(base64_read("YQ==", 4, out, 8) == 1 && out[0] == 'a');
	CHECK(base64_read("YQ", 2, out, 8) == 1);
	CHECK(base64_read("YWI=", 4, out, 8) == 2);
	CHECK(base64_read("YWJj", 4, out, 8) == 3);
	CHECK(base64_read("YWJj", 4, out, 2) < 0);
	CHECK(base64_read("YR==", 4, out, 8) < 0);
	CHECK(base64_read("Y", 1, out, 8) < 0);
	CHECK(base64_read("Y===", 4, out, 8) < 0);
	CHECK(base64_read("YQ=", 3, out, 8) < 0);
	CHECK(base64_read("Y Q=", 4, out, 8) < 0);
	CHECK(base64_read("Y\0Q=", 4, out, 8) < 0);
}

int main(void)
{
	RUN(logins_are_found_by_every_spelling_of_a_host);
	RUN(helpers_are_named);
	RUN(broken_files_are_errors_and_never_more);
	RUN(answers_of_helpers_are_read);
	RUN(base64_has_one_spelling);
	return DONE();
}

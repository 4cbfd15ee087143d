/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_policy_learn.c - rules that would have allowed what was seen
 */
#include "policy/policy_learn.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "lib/policy_random.h"
#include "lib/tap.h"
#include "policy/policy.h"
#include "wire/url_path.h"

#define SEEN_MAX 64

/* "NAME|ADDRESS:PORT [METHOD PATH]", in front "-" for one that was refused. */
static struct policy_seen seen[SEEN_MAX];
static struct address addresses[SEEN_MAX];
static char words[SEEN_MAX][4][256];

static void read_seen(const char *text, size_t at)
{
	char *host = words[at][0], *colon;

	memset(words[at], 0, sizeof(words[at]));
	seen[at] = (struct policy_seen){ .protocol = "tls",
					 .allowed = *text != '-' };
	text += *text == '-';
	sscanf(text, "%255s %255s %255s", host, words[at][1], words[at][2]);
	colon = strrchr(host, ':');
	*colon = '\0';
	seen[at].port = (uint16_t)strtoul(colon + 1, NULL, 10);
	if (address_parse(host, strlen(host), &addresses[at]) == 0)
		seen[at].address = &addresses[at];
	else
		seen[at].name = host;
	if (*words[at][1]) {
		seen[at].protocol = "http";
		seen[at].method = words[at][1];
		seen[at].path = words[at][2];
	}
}

static bool is_allowed(const struct policy *policy,
		       const struct policy_seen *one)
{
	char path[URL_PATH_MAX + 1];
	struct policy_request request = { .name = one->name,
					  .address = one->address,
					  .port = one->port,
					  .method = one->method };

	if (!one->method && one->name)
		return policy_decide_name(policy, one->name, one->port)
			       .answer == POLICY_ALLOW;
	if (!one->method)
		return policy_decide_address(policy, one->address, one->port)
			       .answer == POLICY_ALLOW;
	if (url_path_normalise(one->path, strlen(one->path), path) > 0)
		request.path = path;
	return policy_decide_request(policy, &request).answer == POLICY_ALLOW;
}

/* Whatever the rules look like, they must allow all of it. */
static void check_allowed(struct buffer *text, size_t count)
{
	struct policy_source source = { POLICY_SANDBOX, "learnt",
					buffer_str(text), text->len };
	struct error err;
	AUTO(policy) struct policy *policy = policy_compile(&source, 1, &err);

	if (!policy)
		printf("# %s\n%s", err.text, source.text);
	REQUIRE(policy);
	for (size_t i = 0; i < count; i++) {
		if (!is_allowed(policy, &seen[i]))
			printf("# %s:%u %s %s by\n%s", words[i][0],
			       seen[i].port, words[i][1], words[i][2],
			       source.text);
		CHECK(is_allowed(policy, &seen[i]));
	}
}

static void check_learnt(const char *const *lines, const char *want)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(65536);
	struct error err;
	size_t count = 0;

	for (; lines[count]; count++)
		read_seen(lines[count], count);
	CHECK(policy_learn(seen, count, "shared.net\namazonaws.com\n", &out,
			   &err) == 0);
	if (strcmp(buffer_str(&out), want))
		printf("# got:\n%s# not:\n%s", buffer_str(&out), want);
	CHECK(strcmp(buffer_str(&out), want) == 0);
	check_allowed(&out, count);
}

#define LEARN(want, ...) \
	check_learnt((const char *const[]){ __VA_ARGS__, NULL }, want)

static void nothing_is_learnt_from_nothing(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(65536);

	CHECK(policy_learn(NULL, 0, NULL, &out, NULL) == 0 && out.len == 0);
}

static void a_host_is_one_rule(void)
{
	LEARN("# was allowed\nallow x.com\n", "x.com:443", "x.com:443",
	      "x.com:80");
	LEARN("# was allowed\nallow x.com:22\n", "x.com:22");
	LEARN("# was allowed\nallow x.com\nallow x.com:22\n"
	      "allow x.com:8080-8082\n",
	      "x.com:8081", "x.com:443", "x.com:8080", "x.com:22",
	      "x.com:8082");
	LEARN("# was allowed\nallow x.com\nallow x.com:79\nallow x.com:81\n",
	      "x.com:79", "x.com:80", "x.com:81");
	LEARN("# was allowed\nallow [2001:db8::1]:443\nallow 8.8.8.8:53\n"
	      "allow 8.8.8.8:443\nallow localhost:5432\n",
	      "8.8.8.8:443", "8.8.8.8:53", "2001:db8::1:443",
	      "host.docker.internal:5432", "localhost:5432");
	LEARN("# was allowed\nallow 10.0.0.5:80-81\n", "10.0.0.5:80",
	      "10.0.0.5:81");
}

static void siblings_become_a_wildcard(void)
{
	LEARN("# was allowed\nallow *.x.com\n", "a.x.com:443", "b.x.com:80",
	      "c.x.com:443");
	LEARN("# was allowed\nallow a.x.com\nallow b.x.com\n", "a.x.com:443",
	      "b.x.com:443");
	LEARN("# was allowed\nallow x.com\nallow *.x.com\nallow d.x.com:22\n",
	      "a.x.com:443", "b.x.com:443", "c.x.com:443", "d.x.com:22",
	      "x.com:443");
	/* not above what belongs to many */
	LEARN("# was allowed\nallow a.com\nallow b.com\nallow c.com\n",
	      "a.com:443", "b.com:443", "c.com:443");
	LEARN("# was allowed\nallow a.co.uk\nallow b.co.uk\nallow c.co.uk\n",
	      "a.co.uk:443", "b.co.uk:443", "c.co.uk:443");
	LEARN("# was allowed\nallow a.shared.net\nallow b.shared.net\n"
	      "allow c.shared.net\n",
	      "a.shared.net:443", "b.shared.net:443", "c.shared.net:443");
	LEARN("# was allowed\nallow a.s3.amazonaws.com\n"
	      "allow b.s3.amazonaws.com\nallow c.s3.amazonaws.com\n",
	      "a.s3.amazonaws.com:443", "b.s3.amazonaws.com:443",
	      "c.s3.amazonaws.com:443");
}

static void requests_give_methods_and_paths(void)
{
	LEARN("# was allowed\nallow GET,POST x.com/org/repo/**\n",
	      "x.com:443 GET /org/repo/info/refs",
	      "x.com:443 POST /org/repo/git-upload-pack");
	LEARN("# was allowed\nallow GET x.com/org/**\n",
	      "x.com:443 GET /org/a/x", "x.com:443 GET /org/b/y");
	LEARN("# was allowed\nallow GET x.com\n", "x.com:80 GET /index.html");
	LEARN("# was allowed\nallow GET x.com\n", "x.com:80 GET /a/x",
	      "x.com:80 GET /ab/x");
	LEARN("# was allowed\nallow GET,HEAD x.com/a/**\n",
	      "x.com:80 GET /a/b/c", "x.com:80 HEAD /a/b");
	/* one that nobody looked into: nothing can be asked of it */
	LEARN("# was allowed\nallow x.com\n", "x.com:80 GET /a/b/c",
	      "x.com:443");
	/* what no rule can name */
	LEARN("# was allowed\nallow x.com\n", "x.com:80 FOO /a/b/c");
	LEARN("# was allowed\nallow GET x.com/a/**\n", "x.com:80 GET /a/*/c");
	LEARN("# was allowed\nallow GET x.com\n", "x.com:80 GET /a/../c");
	LEARN("# was allowed\nallow GET x.com/a%20b/**\n",
	      "x.com:80 GET /a%20b/c");
	LEARN("# was allowed\nallow POST 192.0.2.1:80/a/**\n",
	      "192.0.2.1:80 POST /a/b");
}

static void what_was_refused_stands_apart(void)
{
	LEARN("# was allowed\nallow a.com\n\n"
	      "# was refused: look at each before you allow it\n"
	      "allow a.com:22\nallow b.com\n",
	      "-b.com:443", "a.com:443", "-a.com:22");
	LEARN("# was allowed\nallow a.com\n", "-a.com:443", "a.com:443");
	LEARN("# was refused: look at each before you allow it\nallow a.com\n",
	      "-a.com:443");
}

static void other_lines_are_left_out(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(65536);
	struct policy_seen others[] = {
		{ .name = "a.com", .port = 53, .protocol = "dns" },
		{ .name = "a.com", .port = 0, .protocol = "tcp" },
		{ .name = "no name", .port = 80, .protocol = "http" },
		{ .name = "0x7f.1", .port = 80, .protocol = "http" },
		{ .port = 80, .protocol = "tcp" },
		{ .name = "a.com", .port = 1, .protocol = "socket" },
	};

	CHECK(policy_learn(others, ARRAY_SIZE(others), "", &out, NULL) == 0);
	CHECK(out.len == 0);
	others[0].protocol = "tcp";
	out.max = 10;
	CHECK(policy_learn(others, 1, "", &out, NULL) < 0);
}

static void random_logs_are_allowed_afterwards(void)
{
	static const char *const methods[] = { NULL,   "GET", "POST",
					       "HEAD", "FOO", NULL };
	struct random_source source = { .state = 9 };

	for (int round = 0; round < 500; round++) {
		AUTO_BUFFER struct buffer out = BUFFER_INIT(65536);
		size_t count = random_below(&source, SEEN_MAX);

		for (size_t i = 0; i < count; i++) {
			char line[128];
			const char *method = methods[random_below(&source, 6)];

			snprintf(line, sizeof(line), "%s%c.%c.example:%u %s %s",
				 random_below(&source, 3) ? "" : "-",
				 'a' + (int)random_below(&source, 5),
				 'a' + (int)random_below(&source, 2),
				 random_below(&source, 2)
					 ? 443
					 : 75 + random_below(&source, 10),
				 method ? method : "",
				 method ? random_below(&source, 2) ? "/a/b/c"
								   : "/a/%2e/*"
					: "");
			read_seen(line, i);
		}
		CHECK(policy_learn(seen, count, "", &out, NULL) == 0);
		check_allowed(&out, count);
	}
}

int main(void)
{
	RUN(nothing_is_learnt_from_nothing);
	RUN(a_host_is_one_rule);
	RUN(siblings_become_a_wildcard);
	RUN(requests_give_methods_and_paths);
	RUN(what_was_refused_stands_apart);
	RUN(other_lines_are_left_out);
	RUN(random_logs_are_allowed_afterwards);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_presets.c - the files of data/policy compile and mean what they say
 */
#include <dirent.h>
#include <fcntl.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"
#include "policy/policy.h"
#include "policy/policy_rules.h"
#include "verdict_text.h"

static void read_file(const char *name, struct buffer *text)
{
	struct error err;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", POLICY_DATA, name);
	if (fileio_read(AT_FDCWD, path, text, &err) < 0) {
		printf("# %s\n", err.text);
		CHECK(!"a file");
	}
}

/* A preset, and the hosts of an agent as a second source if there is one. */
static struct policy *load(const char *preset, const char *agent)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(1u << 20);
	AUTO_BUFFER struct buffer own = BUFFER_INIT(1u << 20);
	struct policy_source sources[2];
	struct policy *policy;
	struct error err;

	read_file(preset, &text);
	sources[0] = (struct policy_source){ POLICY_PRESET, preset,
					     buffer_str(&text), text.len };
	if (agent) {
		char name[64];

		snprintf(name, sizeof(name), "agents/%s", agent);
		read_file(name, &own);
		sources[1] =
			(struct policy_source){ POLICY_AGENT, agent,
						buffer_str(&own), own.len };
	}
	policy = policy_compile(sources, agent ? 2 : 1, &err);
	if (!policy)
		printf("# %s\n", err.text);
	CHECK(policy);
	return policy;
}

/* "allow", "deny" or "ask"; the rest of the words is not compared. */
static void check_words(const struct policy *policy, const char *asked,
			const char *want)
{
	char got[128];

	verdict_text(policy, asked, got, sizeof(got));
	if (strncmp(got, want, strlen(want)))
		printf("# %s: %s, not %s\n", asked, got, want);
	CHECK(strncmp(got, want, strlen(want)) == 0);
}

static void deny_all_allows_nothing(void)
{
	AUTO(policy) struct policy *policy = load("deny-all", NULL);

	REQUIRE(policy);
	CHECK(policy_rule_count(policy) == 0);
	check_words(policy, "api.anthropic.com:443", "deny default");
	check_words(policy, "8.8.8.8:53", "deny default");
}

static void allow_all_leaves_the_neighbourhood_closed(void)
{
	/* The ranges that are closed by default, wherever somebody counts. */
	static const char *const closed[] = {
		"10.1.2.3:80",       "172.16.0.1:80",      "192.168.1.1:80",
		"127.0.0.1:80",      "169.254.169.254:80", "[::1]:80",
		"[fc00::1]:80",      "[fe80::1]:80",       "100.64.0.1:80",
		"0.0.0.0:80",        "224.0.0.1:80",       "[ff02::1]:80",
		"168.63.129.16:80",  "localhost:80",       "192.0.0.1:80",
		"x.com>10.1.2.3:80",
	};
	AUTO(policy) struct policy *policy = load("allow-all", NULL);

	REQUIRE(policy);
	check_words(policy, "anything.example:12345", "allow default");
	check_words(policy, "8.8.8.8:53", "allow default");
	for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
		check_words(policy, closed[i], "deny default guarded");
}

static void balanced_reads_and_does_not_write(void)
{
	static const char *const rows[][2] = {
		{ "GET github.com:443 /o/r", "allow" },
		{ "GET github.com:443 /o/r/info/refs", "allow" },
		{ "POST github.com:443 /o/r.git/git-upload-pack", "allow" },
		{ "POST github.com:443 /o/r.git/git-receive-pack", "deny" },
		{ "PUT github.com:443 /o/r", "deny" },
		{ "POST gist.github.com:443 /", "deny" },
		{ "POST api.github.com:443 /gists", "deny" },
		{ "GET api.github.com:443 /repos/o/r", "allow" },
		{ "github.com:22", "deny" },
		{ "GET a.npmjs.org:443 /left-pad", "allow" },
		{ "GET a.npmjs.org:443 -", "allow" },
		{ "PUT a.npmjs.org:443 /left-pad", "deny" },
		{ "POST a.npmjs.org:443 /-/npm/v1/security/audits", "allow" },
		{ "POST a.npmjs.org:443 /-/npm/v1/user", "deny" },
		{ "POST x.pypi.org:443 /legacy/", "deny" },
		{ "GET x.pythonhosted.org:443 /p", "allow" },
		{ "GET x.docker.io:443 /token", "allow" },
		{ "PUT x.ghcr.io:443 /v2/o/r/manifests/1", "deny" },
		{ "GET x.ghcr.io:443 /v2/o/r/manifests/1", "allow" },
		{ "GET storage.googleapis.com:443 /somebodys-bucket/x",
		  "deny" },
		{ "GET x.debian.org:80 /debian/dists", "allow" },
		{ "GET x.y.debian.org:80 /debian/dists", "allow" },
		{ "POST r3.o.lencr.org:80 /", "allow" },
		{ "api.anthropic.com:443", "deny default" },
		{ "api.openai.com:443", "deny default" },
		{ "example.com:443", "deny default" },
		{ "10.0.0.1:443", "deny default guarded" },
	};
	AUTO(policy) struct policy *policy = load("balanced", NULL);

	REQUIRE(policy);
	CHECK(!policy_allows_by_default(policy));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_words(policy, rows[i][0], rows[i][1]);
	/* Over TLS nothing of it can be decided without looking inside. */
	check_words(policy, "github.com:443", "ask");
}

static void an_agent_reaches_its_own_hosts_only(void)
{
	static const struct {
		const char *agent, *asked, *want;
	} rows[] = {
		{ "claude", "POST api.anthropic.com:443 /v1/messages",
		  "allow" },
		{ "claude",
		  "POST api.anthropic.com:443 /v1/messages/count_tokens",
		  "allow" },
		{ "claude", "HEAD api.anthropic.com:443 /api/hello", "allow" },
		{ "claude", "POST api.anthropic.com:443 /v1/files", "deny" },
		{ "claude", "POST api.openai.com:443 /v1/responses", "deny" },
		{ "codex", "POST api.openai.com:443 /v1/responses", "allow" },
		{ "codex", "GET api.openai.com:443 /v1/responses", "allow" },
		{ "codex", "POST api.openai.com:443 /v1/files", "deny" },
		{ "codex", "POST api.openai.com:443 /v1/uploads", "deny" },
		{ "codex", "api.anthropic.com:443", "deny default" },
		{ "gemini",
		  "POST generativelanguage.googleapis.com:443 "
		  "/v1beta/models/m:streamGenerateContent",
		  "allow" },
		{ "gemini",
		  "POST generativelanguage.googleapis.com:443 "
		  "/upload/v1beta/files",
		  "deny" },
		{ "copilot", "POST api.githubcopilot.com:443 /chat", "allow" },
		{ "copilot", "POST api.github.com:443 /gists", "deny" },
		{ "opencode", "GET models.opencode.ai:443 /api.json", "allow" },
		{ "cursor", "POST api2.cursor.sh:443 /x", "allow" },
		{ "kiro", "POST q.us-east-1.amazonaws.com:443 /", "allow" },
		{ "kiro", "POST bucket.s3.amazonaws.com:443 /", "deny" },
		{ "shell", "api.anthropic.com:443", "deny default" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(policy)
		struct policy *policy = load("balanced", rows[i].agent);

		REQUIRE(policy);
		check_words(policy, rows[i].asked, rows[i].want);
	}
}

/* Hosts of many: what may be written is named by its path or its port. */
static void check_verbs(void *ctx, const struct policy_rules_item *item)
{
	const char *name = ctx;
	bool reads = !strncmp(item->target, "GET,HEAD ", 9);
	bool writes = strstr(item->target, "POST") != NULL;
	bool ok = reads || writes;

	if (strcmp(name, "balanced") == 0 && writes)
		ok = strchr(item->target, '/') || strstr(item->target, ":80");
	if (strcmp(item->action, "allow") || !ok)
		printf("# %s:%u: %s %s\n", name, item->line, item->action,
		       item->target);
	CHECK(strcmp(item->action, "allow") == 0 && ok);
}

static void check_file(const char *name)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(1u << 20);
	struct error err;
	char shown[64];

	read_file(name, &text);
	snprintf(shown, sizeof(shown), "%s", name);
	CHECK(policy_rules_list((const char *)text.data, text.len, check_verbs,
				shown, &err) == 0);
}

static void every_rule_says_what_may_be_done(void)
{
	DIR *folder = opendir(POLICY_DATA "/agents");
	const struct dirent *entry;
	int files = 0;

	REQUIRE(folder);
	check_file("balanced");
	while ((entry = readdir(folder))) {
		char name[300];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "agents/%s", entry->d_name);
		check_file(name);
		policy_free(load("deny-all", entry->d_name));
		files++;
	}
	closedir(folder);
	CHECK(files == 9);
}

int main(void)
{
	RUN(deny_all_allows_nothing);
	RUN(allow_all_leaves_the_neighbourhood_closed);
	RUN(balanced_reads_and_does_not_write);
	RUN(an_agent_reaches_its_own_hosts_only);
	RUN(every_rule_says_what_may_be_done);
	return DONE();
}

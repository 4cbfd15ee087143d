/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trust.c - programs of the guest trust the authority of their sandbox
 */
#include "guest/trust.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"

#define FIRST "-----FIRST-----\n"
#define HEADING "# bawn: the authority of this sandbox\n"
#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"

static char root[] = "/tmp/test_trust.XXXXXX";
static struct error err;

static char *full(const char *path)
{
	static char text[PATH_MAX];

	text_format(text, sizeof(text), "%s%s", root, path);
	return text;
}

static void put(const char *path, const char *text)
{
	CHECK(!fileio_replace(AT_FDCWD, full(path), text, strlen(text), 0644, 0,
			      &err));
}

static bool is(const char *path, const char *wanted)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(1 << 20);

	if (fileio_read(AT_FDCWD, full(path), &text, &err) < 0)
		return false;
	return text.len == strlen(wanted) &&
	       !memcmp(text.data, wanted, text.len);
}

static void without_an_authority_nothing_changes(void)
{
	struct trust_variable out[TRUST_VARIABLES];

	put(BUNDLE, FIRST);
	trust_install(root, "");
	CHECK(is(BUNDLE, FIRST));
	CHECK(trust_variables(root, out) == 0);
}

static void a_template_without_a_list_gets_the_hosts(void)
{
	static const char list[] = "-----HOST-----\n";

	trust_provide(root, "", 0);
	CHECK(access(full(BUNDLE), F_OK) < 0);
	trust_provide(root, list, strlen(list));
	CHECK(is(BUNDLE, list));
	trust_provide(root, FIRST, strlen(FIRST));
	CHECK(is(BUNDLE, list));
	CHECK(!unlink(full(BUNDLE)));
	/* one in another place is one, too */
	put("/etc/ssl/cert.pem", FIRST);
	trust_provide(root, list, strlen(list));
	CHECK(access(full(BUNDLE), F_OK) < 0);
	CHECK(!unlink(full("/etc/ssl/cert.pem")));
}

static void it_is_added_to_the_bundle_once(void)
{
	trust_install(root, "-----A-----\n");
	CHECK(is(BUNDLE, FIRST HEADING "-----A-----\n"));
	trust_install(root, "-----A-----\n");
	CHECK(is(BUNDLE, FIRST HEADING "-----A-----\n"));
	CHECK(is(TRUST_FILE, "-----A-----\n"));
	CHECK(is("/usr/local/share/ca-certificates/bawn.crt", "-----A-----\n"));
}

static void another_takes_its_place(void)
{
	trust_install(root, "-----LONGER-----\n");
	CHECK(is(BUNDLE, FIRST HEADING "-----LONGER-----\n"));
	trust_install(root, "-----B-----\n");
	CHECK(is(BUNDLE, FIRST HEADING "-----B-----\n"));
}

static void a_long_bundle_keeps_what_it_has(void)
{
	AUTO_BUFFER struct buffer wanted = BUFFER_INIT(1 << 20);

	for (int i = 0; i < 5000; i++)
		CHECK(!buffer_printf(&wanted, "certificate %d\n", i));
	CHECK(!buffer_printf(&wanted, "no newline"));
	put(BUNDLE, buffer_str(&wanted));
	trust_install(root, "-----C-----\n");
	trust_install(root, "-----C-----\n");
	CHECK(!buffer_printf(&wanted, "\n" HEADING "-----C-----\n"));
	CHECK(is(BUNDLE, buffer_str(&wanted)));
}

static void a_link_is_followed_and_a_pipe_is_not_waited_for(void)
{
	put("/etc/ssl/real", FIRST);
	CHECK(!unlink(full(BUNDLE)));
	CHECK(!symlink("../real", full(BUNDLE)));
	CHECK(!mkfifo(full("/etc/ssl/cert.pem"), 0600));
	trust_install(root, "-----D-----\n");
	CHECK(is("/etc/ssl/real", FIRST HEADING "-----D-----\n"));
}

static void a_template_without_a_bundle_gets_one(void)
{
	CHECK(!unlink(full(BUNDLE)) && !rmdir(full("/etc/ssl/certs")));
	trust_install(root, "-----E-----\n");
	CHECK(is(BUNDLE, HEADING "-----E-----\n"));
}

static void variables_name_both_files(void)
{
	struct trust_variable out[TRUST_VARIABLES];
	unsigned count = trust_variables(root, out);
	bool alone = false, bundle = false;

	for (unsigned i = 0; i < count; i++) {
		if (!strcmp(out[i].name, "NODE_EXTRA_CA_CERTS"))
			alone = !strcmp(out[i].value, TRUST_FILE);
		if (!strcmp(out[i].name, "SSL_CERT_FILE"))
			bundle = !strcmp(out[i].value, BUNDLE);
	}
	CHECK(alone && bundle);
}

#define PEM(text) \
	"-----BEGIN CERTIFICATE-----\n" text "\n-----END CERTIFICATE-----\n"
#define JAVA "/etc/ssl/certs/java/cacerts"

/* How many certificates it has, and the last of them. */
static bool is_java_list(const char *path, uint8_t count, const char *last)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(1 << 20);
	size_t end;

	if (fileio_read(AT_FDCWD, full(path), &list, &err) < 0 || list.len < 40)
		return false;
	end = list.len - 20;
	return list.data[11] == count &&
	       !memcmp(list.data + end - strlen(last), last, strlen(last));
}

static void java_is_led_to_a_list_of_its_own(void)
{
	char target[64] = "";

	put(BUNDLE, PEM("Zmlyc3Q="));
	trust_java_prepare(root);
	trust_install(root, PEM("b3Vycw=="));
	CHECK(is_java_list(TRUST_JAVA_FILE, 2, "ours"));
	CHECK(readlink(full(JAVA), target, sizeof(target) - 1) > 0 &&
	      !strcmp(target, TRUST_JAVA_FILE));
	/* The next one takes its place; so it does after another boot. */
	trust_install(root, PEM("bmV3ZXI="));
	CHECK(is_java_list(TRUST_JAVA_FILE, 2, "newer"));
	CHECK(!unlink(full(TRUST_JAVA_FILE)));
	trust_java_prepare(root);
	trust_install(root, PEM("b3Vycw=="));
	CHECK(is_java_list(TRUST_JAVA_FILE, 2, "ours"));
}

static void a_list_that_java_has_is_added_to(void)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(1 << 20);

	CHECK(!fileio_read(AT_FDCWD, full(TRUST_JAVA_FILE), &list, &err));
	CHECK(!unlink(full(JAVA)));
	CHECK(!fileio_replace(AT_FDCWD, full(JAVA), list.data, list.len, 0644,
			      0, &err));
	trust_install(root, PEM("bmV3ZXI="));
	trust_install(root, PEM("bmV3ZXI="));
	CHECK(is_java_list(JAVA, 2, "newer"));
	/* What is no such list stays what it is. */
	put(JAVA, "another form");
	trust_install(root, PEM("bmV3ZXI="));
	CHECK(is(JAVA, "another form"));
}

int main(void)
{
	if (!mkdtemp(root))
		return 1;
	fileio_mkdirs(full("/etc/ssl/certs"), 0755, &err);
	fileio_mkdirs(full("/run/bawn"), 0755, &err);
	fileio_mkdirs(full("/usr/local/share/ca-certificates"), 0755, &err);
	RUN(a_template_without_a_list_gets_the_hosts);
	RUN(without_an_authority_nothing_changes);
	RUN(it_is_added_to_the_bundle_once);
	RUN(another_takes_its_place);
	RUN(a_long_bundle_keeps_what_it_has);
	RUN(a_link_is_followed_and_a_pipe_is_not_waited_for);
	RUN(a_template_without_a_bundle_gets_one);
	RUN(variables_name_both_files);
	RUN(java_is_led_to_a_list_of_its_own);
	RUN(a_list_that_java_has_is_added_to);
	fileio_remove_tree(AT_FDCWD, root, &err);
	return DONE();
}

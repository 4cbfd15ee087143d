/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_resolv_conf.c - the name servers in /etc/resolv.conf
 */
#include "launch/resolv_conf.h"

#include "base/own.h"
#include "lib/tap.h"

/* "a b c": what was found. */
static const char *found(const char *bytes, size_t len)
{
	static char text[RESOLV_CONF_SERVERS_MAX * (ADDRESS_TEXT_SIZE + 1)];
	struct resolv_conf conf;
	size_t used = 0;

	resolv_conf_parse(bytes, len, &conf);
	text[0] = '\0';
	for (size_t i = 0; i < conf.count; i++) {
		char one[ADDRESS_TEXT_SIZE];

		address_format(&conf.servers[i], one);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%s", i ? " " : "", one);
	}
	return text;
}

static void servers_are_taken_in_order(void)
{
	static const struct {
		const char *file, *want;
	} cases[] = {
		{ "nameserver 192.0.2.1\n", "192.0.2.1" },
		{ "nameserver 192.0.2.1", "192.0.2.1" },
		{ "# x\n; y\n\nsearch a b\noptions edns0 trust-ad\n"
		  "nameserver 127.0.0.53\n",
		  "127.0.0.53" },
		{ "  nameserver\t2001:db8::1  # ours\r\nnameserver 192.0.2.1 "
		  "x\n",
		  "2001:db8::1 192.0.2.1" },
		{ "nameserver 192.0.2.1\nnameserver 192.0.2.1\n", "192.0.2.1" },
		/* nothing that can be used: as libc does */
		{ "", "127.0.0.1" },
		{ "nameserver\n", "127.0.0.1" },
		{ "nameserver #192.0.2.1\n", "127.0.0.1" },
		{ "nameserver 192.0.2.01\n", "127.0.0.1" },
		{ "nameserver 192.0.2.1:53\n", "127.0.0.1" },
		{ "nameserver fe80::1%eth0\n", "127.0.0.1" },
		{ "nameserver dns.example\n", "127.0.0.1" },
		{ "nameservers 192.0.2.1\nNAMESERVER 192.0.2.2\n",
		  "127.0.0.1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *is = found(cases[i].file, strlen(cases[i].file));

		if (strcmp(is, cases[i].want))
			printf("# %zu: %s\n", i, is);
		CHECK(!strcmp(is, cases[i].want));
	}
}

static void a_line_with_a_nul_is_no_line(void)
{
	static const char file[] =
		"nameserver 192.0.2.1\0\nnameserver 192.0.2.2\n";

	CHECK(!strcmp(found(file, sizeof(file) - 1), "192.0.2.2"));
}

static void the_number_of_servers_is_bounded(void)
{
	char file[4096] = "";
	struct resolv_conf conf;
	size_t used = 0;

	for (int i = 0; i < 100; i++)
		used += (size_t)snprintf(file + used, sizeof(file) - used,
					 "nameserver 192.0.2.%d\n", i);
	resolv_conf_parse(file, used, &conf);
	CHECK(conf.count == RESOLV_CONF_SERVERS_MAX);
	/* cut anywhere it still has some */
	for (size_t len = 0; len <= used; len++) {
		resolv_conf_parse(file, len, &conf);
		CHECK(conf.count >= 1 && conf.count <= RESOLV_CONF_SERVERS_MAX);
	}
}

int main(void)
{
	RUN(servers_are_taken_in_order);
	RUN(a_line_with_a_nul_is_no_line);
	RUN(the_number_of_servers_is_bounded);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_policy.c - verdicts, one row a case
 *
 * The words are those of verdict_text.h.
 */
#include "policy/policy.h"

#include "base/own.h"
#include "lib/tap.h"
#include "verdict_text.h"
#include "wire/address.h"

#define CHECK_ROWS(rows) \
	CHECK(verdict_rows_check(rows, ARRAY_SIZE(rows), NULL) == 0)

static void what_no_rule_matches_is_denied(void)
{
	static const struct verdict_row rows[] = {
		{ "", "x.example:443", "deny default", "E1: empty" },
		{ "# only a comment\n\n", "x.example:443", "deny default",
		  "E1: as good as empty" },
		{ "", "8.8.8.8:443", "deny default", "E1: an address" },
		{ "", "GET x.example:80 /", "deny default", "E1: a request" },
		{ "default deny", "x.example:443", "deny default", "said" },
		{ "default allow", "x.example:443", "allow default", "said" },
		{ "default allow", "x.example:25", "allow default",
		  "on every port" },
		{ "default allow", "8.8.8.8:53", "allow default", "address" },
		{ "y.example", "x.example:443", "deny default", "another" },
		{ "preset allow-all", "x.example:443", "deny default",
		  "a preset that was not given opens nothing" },
	};

	CHECK_ROWS(rows);
}

static void patterns_mean_whole_labels(void)
{
	static const struct verdict_row rows[] = {
		{ "x.com", "x.com:443", "allow#1 exact", "itself" },
		{ "x.com", "a.x.com:443", "deny default", "not below" },
		{ "x.com", "evilx.com:443", "deny default", "E4" },
		{ "x.com", "x.com.evil.com:443", "deny default", "E4" },
		{ "x.com", "com:443", "deny default", "not above" },
		{ "*.x.com", "a.x.com:443", "allow#1", "one label" },
		{ "*.x.com", "x.com:443", "deny default", "E4: none" },
		{ "*.x.com", "a.b.x.com:443", "deny default", "E4: two" },
		{ "*.x.com", "evilx.com:443", "deny default", "E4: part" },
		{ "*.x.com", "a.evilx.com:443", "deny default", "E4: part" },
		{ "**.x.com", "a.x.com:443", "allow#1", "one" },
		{ "**.x.com", "a.b.c.x.com:443", "allow#1", "three" },
		{ "**.x.com", "x.com:443", "deny default", "not itself" },
		{ "**.x.com", "evilx.com:443", "deny default", "E4: part" },
		{ ".x.com", "x.com:443", "allow#1 exact", "itself" },
		{ ".x.com", "a.x.com:443", "allow#1", "one" },
		{ ".x.com", "a.b.x.com:443", "allow#1", "two" },
		{ ".x.com", "evilx.com:443", "deny default", "E4: part" },
		{ "**", "a.b.c.d:443", "allow#1", "every name" },
		{ "**", "single:443", "allow#1", "every name" },
		{ "**", "8.8.8.8:443", "deny default", "no address" },
		{ "*.com", "x.com:443", "allow#1", "a whole domain" },
		{ "*.com", "com:443", "deny default", "not itself" },
		{ "X.com.", "x.com:443", "allow#1 exact", "E3: one spelling" },
	};

	CHECK_ROWS(rows);
}

static void deny_beats_allow(void)
{
	static const struct verdict_row rows[] = {
		{ "allow x.com\ndeny x.com", "x.com:443", "deny#2", "order" },
		{ "deny x.com\nallow x.com", "x.com:443", "deny#1", "order" },
		{ "allow a.x.com\ndeny **.x.com", "a.x.com:443", "deny#2",
		  "the wide over the narrow" },
		{ "allow **\ndeny a.x.com", "a.x.com:443", "deny#2", "narrow" },
		{ "allow **\ndeny a.x.com", "b.x.com:443", "allow#1", "else" },
		{ "allow x.com\ndeny **", "x.com:443", "deny#2", "all" },
		{ "bypass x.com\ndeny x.com", "x.com:443", "deny#2", "bypass" },
		{ "default allow\ndeny x.com", "x.com:443", "deny#2", "deflt" },
		{ "default allow\ndeny x.com", "y.com:443", "allow default",
		  "else" },
		{ "deny **.com\ndeny x.com\ndeny *.com", "x.com:1", "deny#1",
		  "the first line is named" },
		{ "allow *.com\nallow x.com", "x.com:80", "allow#1 exact",
		  "the first line is named, facts are of all" },
		{ "deny x.com:22\nallow x.com", "x.com:443", "allow#2 exact",
		  "on that port only" },
		{ "allow 192.0.2.0/24\ndeny 192.0.2.1", "192.0.2.1:9", "deny#2",
		  "address" },
		{ "allow 192.0.2.1\ndeny 192.0.2.0/24", "192.0.2.1:9", "deny#2",
		  "range" },
		{ "allow 192.0.2.1\ndeny **", "192.0.2.1:9", "deny#2",
		  "deny of all means addresses, too" },
		{ "localhost:5432\ndeny **", "localhost:5432", "deny#2",
		  "and the host" },
	};

	CHECK_ROWS(rows);
}

static void ports_count(void)
{
	static const struct verdict_row rows[] = {
		{ "x.com", "x.com:80", "allow#1 exact", "the web" },
		{ "x.com", "x.com:443", "allow#1 exact", "the web" },
		{ "x.com", "x.com:22", "deny default", "nothing else" },
		{ "x.com", "x.com:8080", "deny default", "nothing else" },
		{ "**", "x.com:25", "deny default", "nothing else" },
		{ "deny x.com\ndefault allow", "x.com:22", "deny#1",
		  "what is denied is denied on all ports" },
		{ "x.com:22", "x.com:22", "allow#1 port exact", "named" },
		{ "x.com:22", "x.com:443", "deny default", "not named" },
		{ "x.com:443", "x.com:443", "allow#1 port exact", "named" },
		{ "x.com\n**:443", "x.com:443", "allow#1 port exact",
		  "another rule names it" },
		{ "x.com:20-25", "x.com:19", "deny default", "before" },
		{ "x.com:20-25", "x.com:20", "allow#1 port exact", "first" },
		{ "x.com:20-25", "x.com:25", "allow#1 port exact", "last" },
		{ "x.com:20-25", "x.com:26", "deny default", "behind" },
		{ "x.com:1-65535", "x.com:65535", "allow#1 port exact",
		  "the last" },
		{ "**:22", "a.b:22", "allow#1 port", "any host" },
		{ "x.com:1-100\ndeny x.com:50-60", "x.com:49",
		  "allow#1 port exact", "cut out" },
		{ "x.com:1-100\ndeny x.com:50-60", "x.com:55", "deny#2",
		  "cut out" },
		{ "x.com:1-100\ndeny x.com:50-60", "x.com:61",
		  "allow#1 port exact", "cut out" },
		{ "192.0.2.1", "192.0.2.1:9999", "allow#1 exact",
		  "an address means all ports" },
		{ "192.0.2.1:22", "192.0.2.1:23", "deny default", "else" },
	};

	CHECK_ROWS(rows);
}

static void addresses_are_decided_by_addresses(void)
{
	static const struct verdict_row rows[] = {
		{ "192.0.2.1", "192.0.2.1:443", "allow#1 exact", "itself" },
		{ "192.0.2.1", "192.0.2.2:443", "deny default", "another" },
		{ "192.0.2.0/24", "192.0.2.255:443", "allow#1", "last" },
		{ "192.0.2.0/24", "192.0.3.0:443", "deny default", "behind" },
		{ "192.0.2.0/24", "192.0.1.255:443", "deny default", "front" },
		{ "0.0.0.0/0", "8.8.8.8:53", "allow#1", "all" },
		{ "0.0.0.0/0", "[2001:db8::1]:53", "deny default", "family" },
		{ "::/0", "8.8.8.8:53", "deny default", "family" },
		{ "::/0", "[2001:db8::1]:53", "allow#1", "all" },
		{ "2001:db8::/33", "[2001:db8:7fff::1]:1", "allow#1", "in" },
		{ "2001:db8::/33", "[2001:db8:8000::1]:1", "deny default",
		  "out" },
		{ "2001:db8::7/127", "[2001:db8::6]:1", "allow#1", "masked" },
		{ "255.255.255.255\n8.8.8.0/24", "8.8.8.255:1", "allow#2",
		  "the last address ends the table" },
		{ "::ffff:8.8.8.8", "8.8.8.8:53", "allow#1 exact", "E3" },
		{ "8.8.8.8", "[::ffff:8.8.8.8]:53", "allow#1 exact",
		  "E3: one form" },
		{ "**\ndns.example", "8.8.8.8:443", "deny default",
		  "names do not mean addresses" },
		{ "deny 8.8.8.0/24\ndefault allow", "[64:ff9b::8.8.8.8]:53",
		  "deny#1", "NAT64 leads there" },
		{ "deny 8.8.8.0/24\ndefault allow", "[2002:808:808::1]:53",
		  "deny#1", "6to4 leads there" },
		{ "8.8.8.0/24", "[64:ff9b::8.8.8.8]:53", "deny default",
		  "what leads there is not that" },
	};

	CHECK_ROWS(rows);
}

static void guarded_addresses_need_their_own_rule(void)
{
	static const struct verdict_row rows[] = {
		{ "default allow", "10.0.0.1:80", "deny default guarded", "" },
		{ "default allow", "172.16.9.9:80", "deny default guarded",
		  "" },
		{ "default allow", "192.168.1.1:80", "deny default guarded",
		  "" },
		{ "default allow", "127.0.0.1:80", "deny default guarded", "" },
		{ "default allow", "169.254.169.254:80", "deny default guarded",
		  "metadata" },
		{ "default allow", "[::1]:80", "deny default guarded", "" },
		{ "default allow", "[fc00::1]:80", "deny default guarded", "" },
		{ "default allow", "[fe80::1]:80", "deny default guarded", "" },
		{ "default allow", "[::ffff:10.0.0.1]:80",
		  "deny default guarded", "E3: mapped" },
		{ "default allow", "[64:ff9b::10.0.0.1]:80",
		  "deny default guarded", "by NAT64" },
		{ "**", "10.0.0.1:80", "deny default guarded", "not by **" },
		{ "10.0.0.1", "10.0.0.1:80", "allow#1 exact", "named" },
		{ "10.0.0.0/8", "10.0.0.1:80", "allow#1", "range of it" },
		{ "10.0.0.0/8:81", "10.0.0.1:80", "deny default guarded",
		  "another port" },
		{ "0.0.0.0/0", "10.0.0.1:80", "deny default guarded",
		  "a range of everything means none in particular" },
		{ "10.0.0.0/7", "10.0.0.1:80", "deny default guarded",
		  "nor does one that is wider than what is guarded" },
		{ "10.0.0.0/7\n10.0.0.1", "10.0.0.1:80", "allow#2 exact",
		  "named inside of it" },
		{ "GET 10.0.0.1:80/a", "10.0.0.1:80", "ask#1 port exact",
		  "named by a condition" },
		{ "GET 0.0.0.0/0:80/a", "GET 10.0.0.1:80 /a",
		  "deny default guarded", "wide, by a condition" },
		{ "inspect 10.0.0.1\ndefault allow", "10.0.0.1:80",
		  "deny default guarded", "inspect opens nothing" },
		{ "bypass 10.0.0.1", "10.0.0.1:80", "allow#1 bypass exact",
		  "bypass allows" },
		{ "deny 0.0.0.0/0\n10.0.0.1", "10.0.0.1:80", "deny#1",
		  "a wide range can deny" },
	};

	CHECK_ROWS(rows);
}

static void the_hosts_own_addresses_are_guarded(void)
{
	struct address own;
	static const struct verdict_row rows[] = {
		{ "default allow", "203.0.113.7:22", "deny default guarded",
		  "E20: its public address" },
		{ "default allow", "203.0.113.8:22", "allow default",
		  "beside" },
		{ "203.0.113.0/24", "203.0.113.7:22", "deny default guarded",
		  "the network around it does not name it" },
		{ "203.0.113.7", "203.0.113.7:22", "allow#1 exact", "named" },
		{ "x.com", "x.com>203.0.113.7:443", "deny default guarded",
		  "E10: a name that leads there" },
	};

	REQUIRE(address_parse("203.0.113.7", 11, &own) == 0);
	CHECK(verdict_rows_check(rows, ARRAY_SIZE(rows), &own) == 0);
}

static void resolved_addresses_are_checked(void)
{
	static const struct verdict_row rows[] = {
		{ "x.com", "x.com>93.184.216.34:443", "allow", "public" },
		{ "x.com", "x.com>127.0.0.1:443", "deny default guarded",
		  "E10: loopback" },
		{ "x.com", "x.com>[::1]:443", "deny default guarded", "E10" },
		{ "x.com", "x.com>10.1.2.3:443", "deny default guarded",
		  "E10: private" },
		{ "x.com", "x.com>169.254.169.254:80", "deny default guarded",
		  "E10: metadata" },
		{ "x.com", "x.com>[::ffff:127.0.0.1]:80",
		  "deny default guarded", "E10: mapped" },
		{ "x.com", "x.com>[64:ff9b::7f00:1]:80", "deny default guarded",
		  "E10: by NAT64" },
		{ "default allow", "x.com>10.1.2.3:443", "deny default guarded",
		  "the default opens nothing" },
		{ "**", "x.com>10.1.2.3:443", "deny default guarded",
		  "nor do names" },
		{ "x.com\n10.1.2.3", "x.com>10.1.2.3:443", "allow#2 exact",
		  "named" },
		{ "x.com\n10.0.0.0/8", "x.com>10.1.2.3:443", "allow#2",
		  "range" },
		{ "x.com\n10.1.2.3:22", "x.com>10.1.2.3:443",
		  "deny default guarded", "another port" },
		{ "x.com\n0.0.0.0/0", "x.com>10.1.2.3:443",
		  "deny default guarded", "too wide" },
		{ "x.com\nGET 10.1.2.3:443/a", "x.com>10.1.2.3:443",
		  "deny default guarded", "a condition opens no address" },
		{ "x.com:5432\nlocalhost:5432", "x.com>127.0.0.1:5432",
		  "allow#2 port exact", "open by localhost" },
		{ "x.com\ndeny 93.184.216.0/24", "x.com>93.184.216.34:443",
		  "deny#2", "a denied range is denied by name, too" },
		{ "x.com\ndeny POST 93.184.216.34:443/a",
		  "x.com>93.184.216.34:443", "deny#2",
		  "some requests denied: the address is" },
		{ "x.com\ndeny PUT **", "x.com>93.184.216.34:443", "allow",
		  "denied by name is not denied by address" },
		{ "deny 8.8.8.0/24\nx.com", "x.com>[64:ff9b::8.8.8.8]:443",
		  "deny#1", "NAT64 leads there" },
		{ "localhost:80", "localhost>127.0.0.1:80",
		  "allow#1 port exact", "the host" },
		{ "localhost:80", "host.docker.internal>[::1]:80",
		  "allow#1 port exact", "the host" },
		{ "localhost:80", "localhost>93.184.216.34:80", "deny default",
		  "the host is not elsewhere" },
		{ "localhost:80\ndeny ::1", "localhost>[::1]:80", "deny#2",
		  "denied by address" },
	};

	CHECK_ROWS(rows);
}

static void localhost_is_the_hosts_loopback(void)
{
	static const struct verdict_row rows[] = {
		{ "localhost:5432", "localhost:5432", "allow#1 port exact",
		  "" },
		{ "localhost:5432", "host.docker.internal:5432",
		  "allow#1 port exact", "the other spelling" },
		{ "localhost:5432", "gateway.docker.internal:5432",
		  "allow#1 port exact", "the third" },
		{ "localhost:5432", "localhost:5433", "deny default guarded",
		  "another port" },
		{ "localhost:5432", "127.0.0.1:5432", "allow#1 port exact",
		  "its address" },
		{ "localhost:5432", "[::1]:5432", "allow#1 port exact", "v6" },
		{ "localhost:5432", "127.0.0.2:5432", "deny default guarded",
		  "another address" },
		{ "127.0.0.1:5432", "localhost:5432", "allow#1 port exact",
		  "by its address" },
		{ "127.0.0.0/8", "localhost:5432", "allow#1", "by its range" },
		{ "host.docker.internal:80-90", "localhost:85",
		  "allow#1 port exact", "in either spelling" },
		{ "**", "localhost:80", "deny default guarded", "not by **" },
		{ "**:1-65535", "host.docker.internal:5432",
		  "deny default guarded", "nor with ports" },
		{ ".docker.internal", "host.docker.internal:80",
		  "deny default guarded", "nor by another name" },
		{ "default allow", "localhost:80", "deny default guarded", "" },
		{ "localhost:80\ndeny localhost:80", "127.0.0.1:80", "deny#2",
		  "denied by name, asked by address" },
		{ "localhost:80\ndeny 127.0.0.0/8", "localhost:80", "deny#2",
		  "denied by range, asked by name" },
		{ "GET localhost:80/api/**", "localhost:80", "ask#1 port exact",
		  "with a path" },
		{ "GET localhost:80/api/**", "GET localhost:80 /api/x",
		  "allow#1 port exact", "with a path" },
		{ "GET localhost:80/api/**", "PUT localhost:80 /api/x",
		  "deny default guarded", "with a path" },
		{ "localhost:5432", "localhost.example:5432", "deny default",
		  "a name that only begins so" },
	};

	CHECK_ROWS(rows);
}

int main(void)
{
	RUN(what_no_rule_matches_is_denied);
	RUN(patterns_mean_whole_labels);
	RUN(deny_beats_allow);
	RUN(ports_count);
	RUN(addresses_are_decided_by_addresses);
	RUN(guarded_addresses_need_their_own_rule);
	RUN(the_hosts_own_addresses_are_guarded);
	RUN(resolved_addresses_are_checked);
	RUN(localhost_is_the_hosts_loopback);
	return DONE();
}

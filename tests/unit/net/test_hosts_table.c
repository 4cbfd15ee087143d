/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hosts_table.c - names of the host's own table
 */
#include "net/hosts_table.h"

#include "lib/tap.h"

static void a_name_has_its_addresses_in_order(void)
{
	struct hosts_table table = { 0 };
	struct address found[4];
	char text[ADDRESS_TEXT_SIZE];

	hosts_table_add(&table, "b.example", "203.0.113.2");
	hosts_table_add(&table, "A.Example.", "203.0.113.9");
	hosts_table_add(&table, "a.example", "2001:db8::1");
	hosts_table_add(&table, "c.example", "203.0.113.3");
	hosts_table_sort(&table);
	CHECK(hosts_table_find(&table, "a.example", found, 4) == 2);
	address_format(&found[0], text);
	CHECK(!strcmp(text, "203.0.113.9"));
	CHECK(found[1].family == ADDRESS_V6);
	CHECK(hosts_table_find(&table, "a.example", found, 1) == 1);
	CHECK(hosts_table_find(&table, "c.example", found, 4) == 1);
	CHECK(hosts_table_find(&table, "a", found, 4) == 0);
	CHECK(hosts_table_find(&table, "d.example", found, 4) == 0);
	hosts_table_release(&table);
}

static void lines_that_make_no_sense_are_passed_over(void)
{
	struct hosts_table table = { 0 };
	struct address found[1];

	hosts_table_sort(&table);
	CHECK(hosts_table_find(&table, "a.example", found, 1) == 0);
	hosts_table_add(&table, "a b", "203.0.113.2");
	hosts_table_add(&table, "", "203.0.113.2");
	hosts_table_add(&table, "a.example", "fe80::1%eth0");
	hosts_table_add(&table, "a.example", "0127.0.0.1");
	CHECK(table.count == 0);
	hosts_table_release(&table);
}

int main(void)
{
	RUN(a_name_has_its_addresses_in_order);
	RUN(lines_that_make_no_sense_are_passed_over);
	return DONE();
}

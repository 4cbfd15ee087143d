/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_start_spec.c - the start line there and back
 */
#include "ipc/start_spec.h"

#include <jansson.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

#define ID "0123456789abcdef0123456789abcdef"

static struct start_spec restore_spec(void)
{
	return (struct start_spec){
		.goal = START_RESTORE,
		.accel = START_ACCEL_KVM,
		.name = "box",
		.id = ID,
		.folder = "/state/box",
		.qemu = "/usr/bin/qemu",
		.ram_shim = "/lib/shim.so",
		.ram = "/warm/ram",
		.device_state = "/warm/state",
		.disks = { "/state/box/disk", "/warm/disk", "/template" },
		.disk_count = 3,
		.cpus = 2,
		.memory_mib = 4096,
		.marker = ID ID,
		.machine = "pc-q35-7.2",
		.cpu = "max,la57=off",
		.uid = 1879048192,
		.gid = 4294967294u,
		.boot_timeout_ms = 60000,
		.agent_once = true,
		.files = "{\"shares\":[{},{}]}",
		.shares = 2,
		.net = "{\"policy\":[]}",
		.authority = "PEM\n",
		.git = "[user]\n",
	};
}

static void a_spec_comes_back_as_it_was(void)
{
	struct start_spec spec = restore_spec(), again;
	AUTO_FREE char *text = start_spec_encode(&spec);
	struct error err;

	REQUIRE(text && !strchr(text, '\n'));
	REQUIRE(!start_spec_decode(text, strlen(text), &again, &err));
	CHECK(again.goal == START_RESTORE && again.accel == START_ACCEL_KVM);
	CHECK(!strcmp(again.name, "box") && !strcmp(again.id, ID));
	CHECK(!strcmp(again.folder, "/state/box"));
	CHECK(!strcmp(again.ram, "/warm/ram"));
	CHECK(!again.kernel && !again.initramfs && !again.append);
	CHECK(again.disk_count == 3 && !strcmp(again.disks[2], "/template"));
	CHECK(again.cpus == 2 && again.memory_mib == 4096);
	CHECK(!strcmp(again.marker, ID ID));
	CHECK(again.uid == 1879048192 && again.gid == 4294967294u);
	CHECK(!again.remove_at_end && again.agent_once);
	CHECK(!strcmp(again.net, "{\"policy\":[]}"));
	CHECK(!strcmp(again.authority, "PEM\n"));
	CHECK(!strcmp(again.git, "[user]\n"));
	CHECK(!strcmp(again.files, spec.files) && again.shares == 2);
	start_spec_release(&again);
	CHECK(!again.name && again.disk_count == 0);
}

/* Decodes the example with one key set to value (NULL: removed). */
static int decode_with(const char *key, json_t *value)
{
	struct start_spec spec = restore_spec(), again;
	AUTO_FREE char *text = start_spec_encode(&spec);
	AUTO_FREE char *changed = NULL;
	json_t *object = json_loads(text, 0, NULL);
	struct error err = { 0 };
	int result;

	if (value)
		json_object_set_new(object, key, value);
	else
		json_object_del(object, key);
	changed = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	result = start_spec_decode(changed, strlen(changed), &again, &err);
	CHECK((result == 0) == (err.text[0] == 0));
	start_spec_release(&again);
	return result;
}

static void missing_and_unknown_keys_are_refused(void)
{
	struct start_spec spec = restore_spec();
	AUTO_FREE char *text = start_spec_encode(&spec);
	json_t *object = json_loads(text, 0, NULL);
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
		CHECK(decode_with(key, NULL) == -1);
	CHECK(json_object_size(object) == 34);
	json_decref(object);
	CHECK(decode_with("extra", json_null()) == -1);
	CHECK(decode_with("cpus", json_integer(4)) == 0);
}

static void wrong_types_are_refused(void)
{
	CHECK(decode_with("goal", json_string("dance")) == -1);
	CHECK(decode_with("goal", json_integer(0)) == -1);
	CHECK(decode_with("accel", json_null()) == -1);
	CHECK(decode_with("name", json_null()) == -1);
	CHECK(decode_with("name", json_string("")) == -1);
	CHECK(decode_with("cpus", json_string("2")) == -1);
	CHECK(decode_with("cpus", json_real(2.5)) == -1);
	CHECK(decode_with("agent_once", json_integer(1)) == -1);
	CHECK(decode_with("disks", json_string("/x")) == -1);
	CHECK(decode_with("disks", json_array()) == -1);
	CHECK(decode_with("disks", json_pack("[s, i]", "/x", 1)) == -1);
}

static void values_out_of_range_are_refused(void)
{
	json_t *many = json_array();

	for (int i = 0; i < START_DISKS_MAX; i++)
		json_array_append_new(many, json_string("/d"));
	CHECK(decode_with("disks", json_incref(many)) == 0);
	json_array_append_new(many, json_string("/d"));
	CHECK(decode_with("disks", many) == -1);
	CHECK(decode_with("cpus", json_integer(0)) == -1);
	CHECK(decode_with("memory_mib", json_integer(-1)) == -1);
	CHECK(decode_with("uid", json_integer(4294967295)) == -1);
	CHECK(decode_with("uid", json_integer(1LL << 40)) == -1);
	CHECK(decode_with("folder", json_string("relative")) == -1);
	CHECK(decode_with("kernel", json_string("")) == -1);
	CHECK(decode_with("id", json_string("0123")) == -1);
	CHECK(decode_with("marker", json_string(ID)) == -1);
	CHECK(decode_with("marker", json_string(ID ID "0")) == -1);
}

static void shares_are_counted(void)
{
	CHECK(decode_with("shares", json_integer(1)) == -1);
	CHECK(decode_with("shares", json_integer(65)) == -1);
	CHECK(decode_with("files", json_null()) == -1);
	CHECK(decode_with("files", json_string("[]")) == -1);
	CHECK(decode_with("files", json_string("{}")) == -1);
	CHECK(decode_with("files", json_string("{\"shares\":[]}")) == -1);
	CHECK(decode_with("files", json_string("{\"shares\":[1,2")) == -1);
	CHECK(decode_with("files", json_pack("{s:[]}", "shares")) == -1);
	CHECK(decode_with("files", json_string("{\"shares\":[1,2]}")) == 0);
}

static void settings_of_the_network_are_an_object_or_nothing(void)
{
	CHECK(decode_with("net", json_null()) == 0);
	CHECK(decode_with("net", json_string("{}")) == 0);
	CHECK(decode_with("net", json_string("")) == -1);
	CHECK(decode_with("net", json_string("[]")) == -1);
	CHECK(decode_with("net", json_string("{\"a\":1,\"a\":1}")) == -1);
	CHECK(decode_with("net", json_object()) == -1);
}

static void a_goal_has_what_it_needs(void)
{
	CHECK(decode_with("marker", json_null()) == -1);
	CHECK(decode_with("ram", json_null()) == -1);
	CHECK(decode_with("device_state", json_null()) == -1);
	CHECK(decode_with("goal", json_string("cold")) == -1);
	CHECK(decode_with("goal", json_string("make-warm")) == -1);
	/* another disk is another machine than the memory knows */
	CHECK(decode_with("spool", json_string("/spool")) == -1);
	CHECK(decode_with("spool", json_string("spool")) == -1);
}

static void what_is_not_an_object_is_refused(void)
{
	static const char *const texts[] = { "",
					     "[]",
					     "null",
					     "{}",
					     "{} x",
					     "{\"",
					     "{\"goal\":\"cold\","
					     "\"goal\":\"cold\"}" };
	struct start_spec spec;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CHECK(start_spec_decode(texts[i], strlen(texts[i]), &spec,
					&err) == -1);
		start_spec_release(&spec);
	}
}

static void a_path_that_is_not_utf8_cannot_be_sent(void)
{
	struct start_spec spec = restore_spec();

	spec.folder = "/state/\xff";
	CHECK(!start_spec_encode(&spec));
}

int main(void)
{
	RUN(a_spec_comes_back_as_it_was);
	RUN(missing_and_unknown_keys_are_refused);
	RUN(wrong_types_are_refused);
	RUN(values_out_of_range_are_refused);
	RUN(shares_are_counted);
	RUN(settings_of_the_network_are_an_object_or_nothing);
	RUN(a_goal_has_what_it_needs);
	RUN(what_is_not_an_object_is_refused);
	RUN(a_path_that_is_not_utf8_cannot_be_sent);
	return DONE();
}

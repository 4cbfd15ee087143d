/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runtime_edit.c - what is added to a container's settings, and where
 */
#include "guest/runtime_edit.h"

#include <string.h>

#include "base/own.h"
#include "lib/tap.h"

static struct runtime_call call;

static bool reads(char *const *argv, enum oci_spec_kind kind, const char *path)
{
	return runtime_call_read(argv, &call) && call.kind == kind &&
	       strcmp(call.path, path) == 0;
}

#define WORDS(...) ((char *const[]){ __VA_ARGS__, NULL })

static void calls_that_make_a_process_are_known(void)
{
	CHECK(reads(WORDS("runc", "--root", "create", "--log-format", "json",
			  "--systemd-cgroup", "create", "--bundle", "/b",
			  "--pid-file", "/p", "id"),
		    OCI_SPEC_CONTAINER, "/b"));
	CHECK(reads(WORDS("runc", "--log=x", "run", "--bundle=/c", "id"),
		    OCI_SPEC_CONTAINER, "/c"));
	CHECK(reads(WORDS("runc", "exec", "-d", "-p", "/tmp/x", "id"),
		    OCI_SPEC_PROCESS, "/tmp/x"));
}

static void others_are_not(void)
{
	CHECK(!runtime_call_read((char *const[]){ NULL }, &call));
	CHECK(!runtime_call_read(WORDS("runc"), &call));
	CHECK(!runtime_call_read(WORDS("runc", "--version"), &call));
	CHECK(!runtime_call_read(WORDS("runc", "--root"), &call));
	CHECK(!runtime_call_read(WORDS("runc", "state", "create"), &call));
	CHECK(!runtime_call_read(WORDS("runc", "create", "id"), &call));
	CHECK(!runtime_call_read(WORDS("runc", "create", "--bundle"), &call));
	CHECK(!runtime_call_read(WORDS("runc", "run", "--", "-b", "x"), &call));
}

static const char *const names[] = { "A", "B", NULL };
static const char *const values[] = { "/a", "/b" };
static const struct runtime_mount mounts[] = { { "/from", "/to" } };

/* The settings with additions; NULL: refused. Valid until the next call. */
static const char *edit(const char *text, enum oci_spec_kind kind,
			const struct runtime_mount *wanted)
{
	static struct buffer out;
	struct runtime_additions additions = { names, values, wanted, 1 };
	struct oci_spec spec;

	buffer_release(&out);
	buffer_init(&out, 4096);
	if (kind == OCI_SPEC_PROCESS)
		additions.mount_count = 0;
	if (oci_spec_find(text, strlen(text), kind, names, &spec) < 0 ||
	    runtime_edit(text, strlen(text), &spec, &additions, &out) < 0)
		return NULL;
	return buffer_str(&out);
}

#define MOUNT                                                              \
	"{\"destination\":\"/to\",\"type\":\"bind\",\"source\":\"/from\"," \
	"\"options\":[\"bind\",\"ro\",\"nosuid\",\"nodev\",\"noexec\","    \
	"\"private\"]}"

static bool becomes(const char *text, enum oci_spec_kind kind,
		    const char *wanted)
{
	const char *found = edit(text, kind, mounts);

	return found && strcmp(found, wanted) == 0;
}

static void what_is_set_stays(void)
{
	CHECK(becomes("{\"env\":[]}", OCI_SPEC_PROCESS,
		      "{\"env\":[\"A=/a\",\"B=/b\"]}"));
	CHECK(becomes("{\"env\":[\"A=1\"], \"x\":2}", OCI_SPEC_PROCESS,
		      "{\"env\":[\"A=1\",\"B=/b\"], \"x\":2}"));
	CHECK(becomes("{\"env\":[\"A=1\",\"B=\"]}", OCI_SPEC_PROCESS,
		      "{\"env\":[\"A=1\",\"B=\"]}"));
}

static void mounts_come_last_in_either_order(void)
{
	CHECK(becomes("{\"process\":{\"env\":[\"A=1\"]},\"mounts\":[{}]}",
		      OCI_SPEC_CONTAINER,
		      "{\"process\":{\"env\":[\"A=1\",\"B=/b\"]},"
		      "\"mounts\":[{}," MOUNT "]}"));
	CHECK(becomes("{\"mounts\":[],\"process\":{\"env\":[]}}",
		      OCI_SPEC_CONTAINER,
		      "{\"mounts\":[" MOUNT "],\"process\":{\"env\":["
		      "\"A=/a\",\"B=/b\"]}}"));
}

static void half_of_it_is_nothing(void)
{
	static const struct runtime_mount odd[] = { { "/a\"b", "/to" } };

	CHECK(!edit("{\"process\":{\"env\":[]}}", OCI_SPEC_CONTAINER, mounts));
	CHECK(!edit("{\"mounts\":[]}", OCI_SPEC_CONTAINER, mounts));
	CHECK(!edit("{\"process\":{\"env\":[]},\"mounts\":[]}",
		    OCI_SPEC_CONTAINER, odd));
}

int main(void)
{
	RUN(calls_that_make_a_process_are_known);
	RUN(others_are_not);
	RUN(what_is_set_stays);
	RUN(mounts_come_last_in_either_order);
	RUN(half_of_it_is_nothing);
	edit("", OCI_SPEC_PROCESS, mounts);
	return DONE();
}

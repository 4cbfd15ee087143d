/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_edit.c - what is added to a container's settings, and where they are
 */
#include "guest/runtime_edit.h"

#include <string.h>

#include "base/own.h"

static const struct {
	const char *verb;
	enum oci_spec_kind kind;
	const char *option, *letter; /* whose value is the path */
} verbs[] = {
	{ "create", OCI_SPEC_CONTAINER, "--bundle", "-b" },
	{ "run", OCI_SPEC_CONTAINER, "--bundle", "-b" },
	{ "exec", OCI_SPEC_PROCESS, "--process", "-p" },
};

/* These stand before the verb and have a value. */
static const char *const globals[] = { "--log", "--log-format", "--root",
				       "--criu", "--rootless" };

static bool takes_value(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(globals); i++) {
		if (strcmp(word, globals[i]) == 0)
			return true;
	}
	return false;
}

static const char *value_of(char *const *argv, const char *option,
			    const char *letter)
{
	size_t len = strlen(option);

	for (; *argv && strcmp(*argv, "--") != 0; argv++) {
		if (strncmp(*argv, option, len) == 0 && (*argv)[len] == '=')
			return *argv + len + 1;
		if (strcmp(*argv, option) == 0 || strcmp(*argv, letter) == 0)
			return argv[1];
	}
	return NULL;
}

bool runtime_call_read(char *const *argv, struct runtime_call *out)
{
	if (*argv)
		argv++;
	for (; *argv && **argv == '-'; argv++) {
		if (takes_value(*argv) && argv[1])
			argv++;
	}
	for (size_t i = 0; *argv && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(*argv, verbs[i].verb) != 0)
			continue;
		out->kind = verbs[i].kind;
		out->path =
			value_of(argv + 1, verbs[i].option, verbs[i].letter);
		return out->path != NULL;
	}
	return false;
}

/* It can stand in JSON as it is. */
static bool is_plain(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
			return false;
	}
	return true;
}

static int put_variables(const struct oci_spec *spec,
			 const struct runtime_additions *additions,
			 struct buffer *out)
{
	const char *comma = spec->env.empty ? "" : ",";

	for (unsigned i = 0; additions->names[i]; i++) {
		if (i >= OCI_SPEC_NAMES_MAX || !is_plain(additions->values[i]))
			return -1;
		if (spec->is_set & 1u << i)
			continue;
		if (buffer_printf(out, "%s\"%s=%s\"", comma,
				  additions->names[i],
				  additions->values[i]) < 0)
			return -1;
		comma = ",";
	}
	return 0;
}

static int put_mounts(const struct oci_spec *spec,
		      const struct runtime_additions *additions,
		      struct buffer *out)
{
	const char *comma = spec->mounts.empty ? "" : ",";

	for (size_t i = 0; i < additions->mount_count; i++) {
		const struct runtime_mount *mount = &additions->mounts[i];

		if (!is_plain(mount->source) || !is_plain(mount->destination) ||
		    buffer_printf(out,
				  "%s{\"destination\":\"%s\",\"type\":\"bind\","
				  "\"source\":\"%s\",\"options\":[\"bind\","
				  "\"ro\",\"nosuid\",\"nodev\",\"noexec\","
				  "\"private\"]}",
				  comma, mount->destination, mount->source) < 0)
			return -1;
		comma = ",";
	}
	return 0;
}

typedef int put_fn(const struct oci_spec *spec,
		   const struct runtime_additions *additions,
		   struct buffer *out);

int runtime_edit(const char *text, size_t len, const struct oci_spec *spec,
		 const struct runtime_additions *additions, struct buffer *out)
{
	struct {
		size_t at;
		put_fn *put;
	} first = { spec->env.end, put_variables },
	  second = { spec->mounts.end, put_mounts }, swap;

	/* Variables without what they name would do harm. */
	if (!first.at || (additions->mount_count && !second.at))
		return -1;
	if (!additions->mount_count)
		second.at = len;
	if (first.at > second.at) {
		swap = first;
		first = second;
		second = swap;
	}
	return second.at > len || buffer_append(out, text, first.at) < 0 ||
			       first.put(spec, additions, out) < 0 ||
			       buffer_append(out, text + first.at,
					     second.at - first.at) < 0 ||
			       second.put(spec, additions, out) < 0 ||
			       buffer_append(out, text + second.at,
					     len - second.at) < 0
		       ? -1
		       : 0;
}

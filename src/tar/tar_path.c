/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_path.c - the name that an archive gives an entry, made safe
 */
#include "tar/tar_path.h"

#include <string.h>

#include "base/error.h"

static int append(char out[TAR_PATH_MAX], size_t *used, const char *name,
		  size_t len, struct error *err)
{
	size_t slash = *used ? 1 : 0;

	if (len > TAR_NAME_MAX)
		return error_set(err, 0, "a name is longer than %d bytes",
				 TAR_NAME_MAX);
	if (*used + slash + len >= TAR_PATH_MAX)
		return error_set(err, 0, "the path is longer than %d bytes",
				 TAR_PATH_MAX - 1);
	if (slash)
		out[(*used)++] = '/';
	memcpy(out + *used, name, len);
	*used += len;
	out[*used] = '\0';
	return 0;
}

int tar_path_normalise(const char *name, size_t len, char out[TAR_PATH_MAX],
		       struct error *err)
{
	const char *end = name + len;
	size_t used = 0;

	out[0] = '\0';
	if (len == 0)
		return error_set(err, 0, "the name is empty");
	if (memchr(name, '\0', len))
		return error_set(err, 0, "the name contains a NUL");
	if (name[0] == '/')
		return error_set(err, 0, "the path is absolute");
	while (name < end) {
		const char *slash = memchr(name, '/', (size_t)(end - name));
		size_t part = (size_t)((slash ? slash : end) - name);

		if (part == 2 && name[0] == '.' && name[1] == '.')
			return error_set(err, 0, "the path contains \"..\"");
		if (part > 0 && !(part == 1 && name[0] == '.') &&
		    append(out, &used, name, part, err) < 0)
			return -1;
		name += part + (slash ? 1 : 0);
	}
	return 0;
}

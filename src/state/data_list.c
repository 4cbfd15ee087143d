/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_list.c - a list in our data that users extend by files of their own
 */
#include "state/data_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "state/paths.h"

AUTO_DEFINE(json, json_t *, json_decref)

static json_t *load_file(const struct data_list *kind, int folder,
			 const char *name, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(kind->bytes_max);
	json_t *list;

	if (fileio_read(folder, name, &text, err) < 0)
		return NULL;
	list = kind->parse(text.data, text.len, err);
	if (!list)
		error_prefix(err, "%s", name);
	return list;
}

static int is_ours(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && text_ends(entry->d_name, ".json");
}

static int load_folder(const struct data_list *kind, json_t *list,
		       const char *path, struct error *err)
{
	AUTO_CLOSE int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries = NULL;
	int count, result = 0;

	if (folder < 0)
		return errno == ENOENT ? 0 : error_set(err, errno, "%s", path);
	count = scandirat(folder, ".", &entries, is_ours, alphasort);
	if (count < 0)
		return error_set(err, errno, "%s", path);
	for (int i = 0; i < count; i++) {
		AUTO(json) json_t *more = NULL;

		if (result == 0)
			more = load_file(kind, folder, entries[i]->d_name, err);
		if (result == 0 && (!more || kind->merge(list, more, err) < 0))
			result = -1;
		free(entries[i]);
	}
	free(entries);
	return result < 0 ? error_prefix(err, "%s", path) : 0;
}

json_t *data_list_load_from(const struct data_list *kind, const char *file,
			    const char *folder, struct error *err)
{
	AUTO(json) json_t *list = load_file(kind, AT_FDCWD, file, err);

	if (!list || load_folder(kind, list, folder, err) < 0)
		return NULL;
	return TAKE_PTR(list);
}

json_t *data_list_load(const struct data_list *kind, struct error *err)
{
	AUTO_FREE char *file = paths_data_file(kind->file, err);
	AUTO_FREE char *folder = NULL;

	if (!file)
		return NULL;
	folder = paths_of(PATHS_CONFIG, kind->folder, err);
	return folder ? data_list_load_from(kind, file, folder, err) : NULL;
}

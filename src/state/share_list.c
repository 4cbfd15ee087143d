/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_list.c - which folders and files of the host a sandbox sees, and how
 */
#include "state/share_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

void share_list_add(struct share_list *list, const struct share_record *share)
{
	list->items =
		xrealloc(list->items, (list->count + 1) * sizeof(*list->items));
	list->items[list->count++] =
		(struct share_record){ .host = xstrdup(share->host),
				       .guest = xstrdup(share->guest),
				       .read_only = share->read_only,
				       .added = share->added };
}

static void release_one(struct share_record *share)
{
	free(share->host);
	free(share->guest);
}

void share_list_remove(struct share_list *list, size_t at)
{
	release_one(&list->items[at]);
	list->count--;
	memmove(&list->items[at], &list->items[at + 1],
		(list->count - at) * sizeof(*list->items));
}

void share_list_copy(struct share_list *to, const struct share_list *from)
{
	for (size_t i = 0; i < from->count; i++)
		share_list_add(to, &from->items[i]);
}

void share_list_release(struct share_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		release_one(&list->items[i]);
	free(list->items);
	*list = (struct share_list){ 0 };
}

const struct share_record *share_list_find(const struct share_list *list,
					   const char *path)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].host, path) ||
		    !strcmp(list->items[i].guest, path))
			return &list->items[i];
	return NULL;
}

json_t *share_list_encode(const struct share_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct share_record *share = &list->items[i];
		json_t *one =
			json_pack("{s:s, s:s, s:b, s:b}", "host", share->host,
				  "guest", share->guest, "read_only",
				  share->read_only, "added", share->added);

		if (json_array_append_new(array, one) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static int decode_one(json_t *value, struct share_list *list, struct error *err)
{
	const char *host, *guest;
	int read_only, added;
	json_error_t why;

	if (json_unpack_ex(value, &why, JSON_STRICT, "{s:s, s:s, s:b, s:b}",
			   "host", &host, "guest", &guest, "read_only",
			   &read_only, "added", &added) < 0)
		return error_set(err, 0, "share: %s", why.text);
	if (host[0] != '/' || guest[0] != '/')
		return error_set(err, 0, "share: paths are absolute");
	share_list_add(list, &(struct share_record){ .host = (char *)host,
						     .guest = (char *)guest,
						     .read_only = read_only,
						     .added = added });
	return 0;
}

int share_list_decode(const json_t *array, struct share_list *list,
		      struct error *err)
{
	size_t count = json_array_size(array);

	*list = (struct share_list){ 0 };
	if (!json_is_array(array) || count > SHARE_LIST_MAX)
		return error_set(err, 0, "shares: an array of at most %d",
				 SHARE_LIST_MAX);
	for (size_t i = 0; i < count; i++) {
		if (decode_one(json_array_get(array, i), list, err) < 0) {
			share_list_release(list);
			return -1;
		}
	}
	return 0;
}

bool share_path_within(const char *path, const char *folder)
{
	return !strcmp(folder, "/") || text_is_within(path, folder);
}

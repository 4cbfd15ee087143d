/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_list.c - which Unix sockets of the host a sandbox may connect to
 */
#include "state/socket_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static int check_path(const char *path, size_t max, struct error *err)
{
	if (path[0] != '/')
		return error_set(err, 0, "%s: not an absolute path", path);
	if (strlen(path) >= max)
		return error_set(err, 0, "%s: too long for a socket", path);
	return 0;
}

int socket_list_add(struct socket_list *list,
		    const struct socket_record *socket, struct error *err)
{
	if (check_path(socket->host, SOCKET_PATH_MAX, err) < 0 ||
	    check_path(socket->guest, SOCKET_GUEST_MAX, err) < 0)
		return -1;
	if (list->count == SOCKET_LIST_MAX)
		return error_set(err, 0, "more than %d sockets",
				 SOCKET_LIST_MAX);
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].guest, socket->guest))
			return error_set(err, 0, "%s: two sockets there",
					 socket->guest);
	list->items[list->count++] =
		(struct socket_record){ .host = xstrdup(socket->host),
					.guest = xstrdup(socket->guest) };
	return 0;
}

void socket_list_copy(struct socket_list *to, const struct socket_list *from)
{
	for (size_t i = 0; i < from->count; i++)
		socket_list_add(to, &from->items[i], NULL);
}

void socket_list_release(struct socket_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].host);
		free(list->items[i].guest);
	}
	*list = (struct socket_list){ .count = 0 };
}

json_t *socket_list_encode(const struct socket_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		json_t *one =
			json_pack("{s:s, s:s}", "host", list->items[i].host,
				  "guest", list->items[i].guest);

		if (json_array_append_new(array, one) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static int decode_one(json_t *value, struct socket_list *list,
		      struct error *err)
{
	const char *host, *guest;
	json_error_t why;

	if (json_unpack_ex(value, &why, JSON_STRICT, "{s:s, s:s}", "host",
			   &host, "guest", &guest) < 0)
		return error_set(err, 0, "socket: %s", why.text);
	return socket_list_add(
		list,
		&(struct socket_record){ .host = (char *)host,
					 .guest = (char *)guest },
		err);
}

int socket_list_decode(const json_t *array, struct socket_list *list,
		       struct error *err)
{
	size_t count = json_array_size(array);

	*list = (struct socket_list){ .count = 0 };
	if (!json_is_array(array) || count > SOCKET_LIST_MAX)
		return error_set(err, 0, "sockets: an array of at most %d",
				 SOCKET_LIST_MAX);
	for (size_t i = 0; i < count; i++) {
		if (decode_one(json_array_get(array, i), list, err) < 0) {
			socket_list_release(list);
			return -1;
		}
	}
	return 0;
}

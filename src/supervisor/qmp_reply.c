/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qmp_reply.c - QEMU's monitor lines: strict about the outside, lax inside
 */
#include "supervisor/qmp_reply.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

static int parse_error(const json_t *object, struct qmp_reply *reply,
		       struct error *err)
{
	const json_t *desc = json_object_get(object, "desc");

	if (!json_is_string(desc))
		return error_set(err, 0, "QMP: an error without a description");
	text_printable(json_string_value(desc), json_string_length(desc),
		       reply->text, sizeof(reply->text));
	return 0;
}

static int parse_event(const json_t *name, struct qmp_reply *reply,
		       struct error *err)
{
	const char *text = json_string_value(name);

	if (!text || strlen(text) != json_string_length(name) ||
	    text_copy(reply->name, sizeof(reply->name), text) < 0)
		return error_set(err, 0, "QMP: an event without a name");
	return 0;
}

static int parse_id(const json_t *root, struct qmp_reply *reply,
		    struct error *err)
{
	const json_t *id = json_object_get(root, "id");

	if (!id)
		return 0;
	if (!json_is_integer(id) || json_integer_value(id) <= 0)
		return error_set(err, 0, "QMP: an id that is not ours");
	reply->id = (uint64_t)json_integer_value(id);
	return 0;
}

static int parse_root(json_t *root, struct qmp_reply *reply, struct error *err)
{
	json_t *value;

	if (json_object_get(root, "QMP")) {
		reply->kind = QMP_GREETING;
		return 0;
	}
	value = json_object_get(root, "event");
	if (value) {
		reply->kind = QMP_EVENT;
		reply->body = json_incref(json_object_get(root, "data"));
		return parse_event(value, reply, err);
	}
	value = json_object_get(root, "error");
	if (value) {
		reply->kind = QMP_ERROR;
		if (parse_id(root, reply, err) < 0)
			return -1;
		return parse_error(value, reply, err);
	}
	value = json_object_get(root, "return");
	if (!value)
		return error_set(err, 0, "QMP: a line of no known kind");
	reply->kind = QMP_RETURN;
	reply->body = json_incref(value);
	return parse_id(root, reply, err);
}

int qmp_reply_parse(const char *line, size_t len, struct qmp_reply *reply,
		    struct error *err)
{
	json_error_t where;
	json_t *root;
	int result;

	*reply = (struct qmp_reply){ 0 };
	if (len > QMP_LINE_MAX)
		return error_set(err, 0, "QMP: a line of %zu bytes", len);
	root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &where);
	if (!json_is_object(root)) {
		json_decref(root);
		return error_set(err, 0, "QMP: not a JSON object");
	}
	result = parse_root(root, reply, err);
	json_decref(root);
	if (result < 0)
		qmp_reply_release(reply);
	return result;
}

void qmp_reply_release(struct qmp_reply *reply)
{
	json_decref(reply->body);
	reply->body = NULL;
}

const char *qmp_reply_string(const struct qmp_reply *reply, const char *key)
{
	const char *text = json_string_value(json_object_get(reply->body, key));

	return text ? text : "";
}

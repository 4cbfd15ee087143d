/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.c - what bawn-image is to fetch or to push: one JSON object on stdin
 */
#include "image/order.h"

#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

AUTO_DEFINE(json, json_t *, json_decref)

static const char *const login_kinds[] = {
	[LOGIN_NONE] = "none",
	[LOGIN_PASSWORD] = "password",
	[LOGIN_IDENTITY] = "identity",
	[LOGIN_TOKEN] = "token",
};

static int take(const json_t *json, const char *key, char *to, size_t size,
		struct error *err)
{
	const char *text = json_string_value(json_object_get(json, key));

	if (text && text_copy(to, size, text) < 0)
		return error_set(err, 0, "the order: \"%s\" is too long", key);
	return 0;
}

static unsigned number(const json_t *json, const char *key, unsigned usual)
{
	json_int_t value = json_integer_value(json_object_get(json, key));

	return value > 0 && value < 1000000000 ? (unsigned)value : usual;
}

static int take_login(const json_t *json, struct login *login,
		      struct error *err)
{
	const char *kind = json_string_value(json_object_get(json, "kind"));

	for (size_t i = 0; kind && i < ARRAY_SIZE(login_kinds); i++)
		if (strcmp(kind, login_kinds[i]) == 0)
			login->kind = (enum login_kind)i;
	if (take(json, "user", login->user, sizeof(login->user), err) < 0)
		return -1;
	return take(json, "secret", login->secret, sizeof(login->secret), err);
}

static int take_place(const json_t *json, struct registry_place *place,
		      struct error *err)
{
	if (take(json, "host", place->host, sizeof(place->host), err) < 0 ||
	    take(json, "repository", place->repository,
		 sizeof(place->repository), err) < 0 ||
	    take(json, "ca", place->ca, sizeof(place->ca), err) < 0 ||
	    take_login(json_object_get(json, "login"), &place->login, err) < 0)
		return -1;
	place->http = json_is_true(json_object_get(json, "http"));
	if (!reference_host_is_valid(place->host) || !place->repository[0])
		return error_set(err, 0, "the order: a place is malformed");
	return 0;
}

static int take_places(const json_t *places, struct order *order,
		       struct error *err)
{
	size_t count = json_array_size(places);

	if (!count || count > ORDER_PLACES_MAX)
		return error_set(err, 0, "the order names no place");
	for (size_t i = 0; i < count; i++)
		if (take_place(json_array_get(places, i), &order->places[i],
			       err) < 0)
			return -1;
	order->place_count = count;
	return 0;
}

static void take_settings(const json_t *json, struct registry_settings *to)
{
	to->limits.connect_ms = number(json, "connect_ms", 15000);
	to->limits.stall_ms = number(json, "stall_ms", 60000);
	to->limits.small_ms = number(json, "small_ms", 120000);
	to->attempts = number(json, "attempts", 5);
	to->back_off_ms = number(json, "back_off_ms", 500);
	to->parallel = number(json, "parallel", 4);
}

int order_parse(const void *bytes, size_t len, struct order *order,
		struct error *err)
{
	AUTO(json) json_t *json = len ? json_loadb(bytes, len, 0, NULL) : NULL;
	const json_t *platform = json_object_get(json, "platform");
	const json_t *image = json_object_get(json, "image");

	memset(order, 0, sizeof(*order));
	if (!json_is_object(json))
		return error_set(err, 0, "the order is no JSON object");
	take_settings(json, &order->settings);
	if (take_places(json_object_get(json, "places"), order, err) < 0 ||
	    take(json, "tag", order->tag, sizeof(order->tag), err) < 0 ||
	    take(json, "digest", order->digest, sizeof(order->digest), err) <
		    0 ||
	    take(platform, "os", order->platform.os, sizeof(order->platform.os),
		 err) < 0 ||
	    take(platform, "architecture", order->platform.architecture,
		 sizeof(order->platform.architecture), err) < 0 ||
	    take(platform, "variant", order->platform.variant,
		 sizeof(order->platform.variant), err) < 0)
		return -1;
	return image ? image_from_json(image, &order->image, err) : 0;
}

void order_release(struct order *order)
{
	image_release(&order->image);
	explicit_bzero(order, sizeof(*order));
}

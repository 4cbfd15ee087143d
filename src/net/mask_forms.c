/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_forms.c - what a secret may look like in a response
 */
#include "net/mask_internal.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "wire/base64.h"

/* No form is longer: each byte as \u00XX. */
#define GROWTH 6
/* A short base64 or hexadecimal text is met by chance. */
#define CODED_MIN 8

struct builder {
	struct mask_forms *forms;
	uint8_t *bytes; /* of forms->memory */
	size_t used;
};

static void add(struct builder *to, size_t len)
{
	struct mask_forms *forms = to->forms;
	const uint8_t *bytes = to->bytes + to->used;

	for (size_t i = 0; i < forms->count; i++) {
		if (forms->list[i].len == len &&
		    memcmp(forms->list[i].bytes, bytes, len) == 0)
			return;
	}
	forms->list[forms->count++] = (struct mask_form){ bytes, len };
	forms->starts[bytes[0]] = true;
	if (len > forms->longest)
		forms->longest = len;
	to->used += len;
}

static size_t put(uint8_t *out, const char *text)
{
	size_t len = strlen(text);

	memcpy(out, text, len);
	return len;
}

static size_t put_hex(uint8_t *out, const char *before, uint8_t byte,
		      const char *digits)
{
	size_t len = put(out, before);

	out[len] = (uint8_t)digits[byte >> 4];
	out[len + 1] = (uint8_t)digits[byte & 15];
	return len + 2;
}

static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";

static bool is_unreserved(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

/* Each writes one byte in its form, and returns how much that took. */
typedef size_t form_fn(uint8_t *out, uint8_t c);

static size_t plain(uint8_t *out, uint8_t c)
{
	*out = c;
	return 1;
}

static size_t percent_upper(uint8_t *out, uint8_t c)
{
	return is_unreserved(c) ? plain(out, c) : put_hex(out, "%", c, upper);
}

static size_t percent_lower(uint8_t *out, uint8_t c)
{
	return is_unreserved(c) ? plain(out, c) : put_hex(out, "%", c, lower);
}

static size_t json_short(uint8_t *out, uint8_t c)
{
	if (c != '"' && c != '\\')
		return plain(out, c);
	out[0] = '\\';
	out[1] = c;
	return 2;
}

static size_t json_slash(uint8_t *out, uint8_t c)
{
	return c == '/' ? put(out, "\\/") : json_short(out, c);
}

/* As those do who put JSON into pages. */
static size_t json_page(uint8_t *out, uint8_t c)
{
	return c && strchr("<>&'", c) ? put_hex(out, "\\u00", c, lower)
				      : json_short(out, c);
}

static size_t html(uint8_t *out, uint8_t c)
{
	switch (c) {
	case '&':
		return put(out, "&amp;");
	case '<':
		return put(out, "&lt;");
	case '>':
		return put(out, "&gt;");
	case '"':
		return put(out, "&#34;");
	case '\'':
		return put(out, "&#39;");
	default:
		return plain(out, c);
	}
}

static size_t hex_lower(uint8_t *out, uint8_t c)
{
	return put_hex(out, "", c, lower);
}

static size_t hex_upper(uint8_t *out, uint8_t c)
{
	return put_hex(out, "", c, upper);
}

static form_fn *const by_byte[] = {
	plain,     percent_upper, percent_lower, json_short, json_slash,
	json_page, html,          hex_lower,     hex_upper,
};

static void add_by_byte(struct builder *to, form_fn *form, const uint8_t *value,
			size_t len)
{
	uint8_t *out = to->bytes + to->used;
	size_t at = 0;

	for (size_t i = 0; i < len; i++)
		at += form(out + at, value[i]);
	add(to, at);
}

/*
 * The letters that this value alone decides, when `before` bytes stand in
 * front of it in a group of three.
 */
static void add_base64(struct builder *to, const uint8_t *value, size_t len,
		       size_t before, bool url)
{
	static const size_t skipped[] = { 0, 2, 3 };
	size_t end = (before + len) * 8 / 6, first = skipped[before];
	char *coded = xmalloc(BASE64_SIZE(before + len));
	uint8_t *whole = xcalloc(1, before + len);

	memcpy(whole + before, value, len);
	base64_encode(whole, before + len, coded);
	for (size_t i = first; url && i < end; i++)
		coded[i] = (char)(coded[i] == '+'   ? '-'
				  : coded[i] == '/' ? '_'
						    : coded[i]);
	if (end >= first + CODED_MIN) {
		memcpy(to->bytes + to->used, coded + first, end - first);
		add(to, end - first);
	}
	secret_wipe(whole, before + len);
	secret_wipe(coded, BASE64_SIZE(before + len));
	free(whole);
	free(coded);
}

struct mask_forms *mask_forms_new(const void *value, size_t len,
				  struct error *err)
{
	struct mask_forms *forms;
	struct builder to;

	if (!len || len > SECRET_MAX / GROWTH / MASK_FORM_COUNT) {
		error_set(err, 0, "a secret of %zu bytes cannot be masked",
			  len);
		return NULL;
	}
	forms = xcalloc(1, sizeof(*forms));
	forms->memory = secret_new(NULL, len * GROWTH * MASK_FORM_COUNT, err);
	if (!forms->memory) {
		free(forms);
		return NULL;
	}
	to = (struct builder){ .forms = forms,
			       .bytes = secret_data(forms->memory) };
	for (size_t i = 0; i < sizeof(by_byte) / sizeof(by_byte[0]); i++) {
		if ((by_byte[i] != hex_lower && by_byte[i] != hex_upper) ||
		    2 * len >= CODED_MIN)
			add_by_byte(&to, by_byte[i], value, len);
	}
	for (size_t before = 0; before < 3; before++) {
		add_base64(&to, value, len, before, false);
		add_base64(&to, value, len, before, true);
	}
	return forms;
}

void mask_forms_free(struct mask_forms *forms)
{
	if (!forms)
		return;
	secret_free(forms->memory);
	free(forms);
}

size_t mask_forms_longest(const struct mask_forms *forms)
{
	return forms->longest;
}

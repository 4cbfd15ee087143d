/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask.c - takes a secret out of what a server sends back
 */
#include "net/mask_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/secret.h"

void mask_init(struct mask *mask)
{
	*mask = (struct mask){ .count = 0 };
}

int mask_add(struct mask *mask, const struct mask_forms *forms)
{
	if (mask->count == MASK_FORMS_MAX)
		return -1;
	mask->forms[mask->count++] = forms;
	for (size_t i = 0; i < sizeof(mask->starts); i++)
		mask->starts[i] |= forms->starts[i];
	return 0;
}

void mask_release(struct mask *mask)
{
	secret_wipe(mask->held, mask->held_size);
	free(mask->held);
	mask_init(mask);
}

/*
 * How much of the bytes is the longest form that begins here; 0: none. *open:
 * one that may begin here has not ended yet.
 */
static size_t match(const struct mask_forms *forms, const uint8_t *bytes,
		    size_t len, bool *open)
{
	size_t longest = 0;

	for (size_t i = 0; i < forms->count; i++) {
		const struct mask_form *form = &forms->list[i];
		size_t n = form->len < len ? form->len : len;

		if (form->bytes[0] != bytes[0] ||
		    memcmp(form->bytes, bytes, n) != 0)
			continue;
		if (form->len > len)
			*open = true;
		else if (form->len > longest)
			longest = form->len;
	}
	return longest;
}

static size_t match_any(const struct mask *mask, const uint8_t *bytes,
			size_t len, bool *open)
{
	size_t longest = 0;

	for (size_t i = 0; i < mask->count; i++) {
		size_t n;

		if (!mask->forms[i]->starts[bytes[0]])
			continue;
		n = match(mask->forms[i], bytes, len, open);
		if (n > longest)
			longest = n;
	}
	return longest;
}

enum sweep_when {
	SWEEP_MORE, /* comes: a form that is open is waited for */
	SWEEP_LAST,
};

/* Masks in place; returns where the first form begins that is still open. */
static size_t sweep(const struct mask *mask, uint8_t *bytes, size_t len,
		    enum sweep_when when)
{
	size_t at = 0;

	while (at < len) {
		bool open = false;
		size_t n;

		if (!mask->starts[bytes[at]]) {
			at++;
			continue;
		}
		n = match_any(mask, bytes + at, len - at, &open);
		/* Also when a shorter one is whole: the rest would be seen. */
		if (open && when == SWEEP_MORE)
			return at;
		memset(bytes + at, '*', n);
		at += n ? n : 1;
	}
	return len;
}

static void hold(struct mask *mask, const uint8_t *bytes, size_t len)
{
	if (len > mask->held_size) {
		size_t size = len;

		/* No form is longer, so it is made once. */
		for (size_t i = 0; i < mask->count; i++) {
			if (mask->forms[i]->longest > size)
				size = mask->forms[i]->longest;
		}
		secret_wipe(mask->held, mask->held_size);
		free(mask->held);
		mask->held = xmalloc(size);
		mask->held_size = size;
	}
	if (len)
		memcpy(mask->held, bytes, len);
	mask->held_len = len;
}

size_t mask_feed(struct mask *mask, const void *bytes, size_t len, uint8_t *out)
{
	size_t all = mask->held_len + len, ready;

	if (mask->held_len)
		memcpy(out, mask->held, mask->held_len);
	if (len)
		memcpy(out + mask->held_len, bytes, len);
	ready = sweep(mask, out, all, SWEEP_MORE);
	hold(mask, out + ready, all - ready);
	if (ready < mask->said) {
		mask->said -= ready;
		return 0;
	}
	ready -= mask->said;
	memmove(out, out + mask->said, ready);
	mask->said = 0;
	return ready;
}

size_t mask_end(struct mask *mask, uint8_t *out)
{
	size_t len = mask->held_len - mask->said;

	if (!mask->held_len)
		return 0;
	sweep(mask, mask->held, mask->held_len, SWEEP_LAST);
	memcpy(out, mask->held + mask->said, len);
	mask->held_len = mask->said = 0;
	return len;
}

/* All these bytes are so much of the begin of a form that it is none else. */
static bool is_part(const struct mask *mask, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < mask->count && len >= MASK_PART_MIN; i++) {
		for (size_t k = 0; k < mask->forms[i]->count; k++) {
			const struct mask_form *form = &mask->forms[i]->list[k];

			if (form->len > len && form->len <= 2 * len &&
			    memcmp(form->bytes, bytes, len) == 0)
				return true;
		}
	}
	return false;
}

size_t mask_pause(struct mask *mask, uint8_t *out)
{
	size_t len = mask->held_len, said = mask->said, at = 0;

	if (!len)
		return 0;
	memcpy(out, mask->held, len);
	sweep(mask, out, len, SWEEP_LAST);
	while (at < len && !is_part(mask, mask->held + at, len - at))
		at++;
	memset(out + at, '*', len - at);
	memmove(out, out + said, len - said);
	mask->said = len;
	return len - said;
}

int mask_finds(const struct mask *mask, struct span text)
{
	const uint8_t *bytes = (const uint8_t *)text.bytes;
	bool open;

	for (size_t at = 0; at < text.len; at++) {
		if (mask->starts[bytes[at]] &&
		    match_any(mask, bytes + at, text.len - at, &open))
			return 1;
	}
	return 0;
}

void mask_text(const struct mask *mask, char *text, size_t len)
{
	sweep(mask, (uint8_t *)text, len, SWEEP_LAST);
}

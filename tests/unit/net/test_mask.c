/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mask.c - unit tests of net/mask.h
 */
#include "net/mask.h"

#include <stdbool.h>

#include "base/own.h"
#include "lib/tap.h"
#include "wire/base64.h"

static const char value[] = "sk-1/a+b\"c&d%e9";

AUTO_DEFINE(forms, struct mask_forms *, mask_forms_free)

/* All of the text in pieces of `piece` bytes; out has its length. */
static void pass(const struct mask_forms *forms, const char *text, size_t piece,
		 char *out)
{
	size_t len = strlen(text), at = 0;
	struct mask mask;
	uint8_t buf[1024];

	mask_init(&mask);
	mask_add(&mask, forms);
	for (size_t i = 0; i < len; i += piece) {
		size_t n = len - i < piece ? len - i : piece;
		size_t got = mask_feed(&mask, text + i, n, buf);

		memcpy(out + at, buf, got);
		at += got;
	}
	at += mask_end(&mask, (uint8_t *)out + at);
	CHECK(at == len);
	out[at] = '\0';
	mask_release(&mask);
}

/* Each `{` form `}` of the text is masked and nothing else is. */
static void check(const struct mask_forms *forms, const char *before,
		  const char *form, const char *after)
{
	char text[512], want[512], got[512];

	snprintf(text, sizeof(text), "%s%s%s", before, form, after);
	snprintf(want, sizeof(want), "%s%s", before, form);
	memset(want + strlen(before), '*', strlen(form));
	snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s", after);
	for (size_t piece = 1; piece <= strlen(text); piece++) {
		pass(forms, text, piece, got);
		CHECK(strcmp(got, want) == 0);
	}
}

static void each_form_is_masked_however_it_comes(void)
{
	static const char *const rows[] = {
		value,
		"sk-1%2Fa%2Bb%22c%26d%25e9",
		"sk-1%2fa%2bb%22c%26d%25e9",
		"sk-1/a+b\\\"c&d%e9",
		"sk-1\\/a+b\\\"c&d%e9",
		"sk-1/a+b\\\"c\\u0026d%e9",
		"sk-1/a+b&#34;c&amp;d%e9",
		"736b2d312f612b622263266425"
		"6539",
		"736B2D312F612B622263266425"
		"6539",
	};
	AUTO(forms)
	struct mask_forms *forms = mask_forms_new(value, strlen(value), NULL);

	REQUIRE(forms);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check(forms, "", rows[i], "");
		check(forms, "{\"key\": \"", rows[i], "\"}");
		check(forms, "ssksk-sk-1", rows[i], "sk-1/");
	}
}

static void base64_is_found_at_every_place(void)
{
	AUTO(forms)
	struct mask_forms *forms = mask_forms_new(value, strlen(value), NULL);

	REQUIRE(forms);
	for (size_t before = 0; before < 7; before++) {
		for (size_t after = 0; after < 4; after++) {
			char plain[64] = "", coded[128] = "", got[128];
			size_t stars = 0;

			snprintf(plain, sizeof(plain), "%.*s%s%.*s",
				 (int)before, "user:xx", value, (int)after,
				 "\n\n\n");
			base64_encode(plain, strlen(plain), coded);
			pass(forms, coded, 5, got);
			for (const char *p = got; *p; p++)
				stars += *p == '*';
			/* but for letters that neighbours decide too */
			CHECK(stars + 2 >= strlen(value) * 4 / 3);
		}
	}
}

static void two_secrets_are_masked_at_once(void)
{
	AUTO(forms) struct mask_forms *a = mask_forms_new("alphabet", 8, NULL);
	AUTO(forms) struct mask_forms *b = mask_forms_new("betatron", 8, NULL);
	char text[] = "alphabetatron alphabet betatron";
	struct mask mask;

	REQUIRE(a && b);
	mask_init(&mask);
	mask_add(&mask, a);
	mask_add(&mask, b);
	CHECK(mask_finds(&mask, span_of("xbetatron")));
	CHECK(!mask_finds(&mask, span_of("betatro")));
	mask_text(&mask, text, strlen(text));
	CHECK(strcmp(text, "********atron ******** ********") == 0);
	mask_release(&mask);
}

static void the_longer_of_two_is_masked_whole(void)
{
	AUTO(forms) struct mask_forms *a = mask_forms_new("secret-1", 8, NULL);
	AUTO(forms) struct mask_forms *b = mask_forms_new("secret-12", 9, NULL);
	struct mask mask;
	uint8_t out[64];

	REQUIRE(a && b);
	mask_init(&mask);
	mask_add(&mask, a);
	mask_add(&mask, b);
	CHECK(mask_feed(&mask, "secret-1", 8, out) == 0);
	CHECK(mask_feed(&mask, "2.", 2, out) == 10);
	CHECK(memcmp(out, "*********.", 10) == 0);
	CHECK(mask_feed(&mask, "secret-1", 8, out) == 0);
	CHECK(mask_end(&mask, out) == 8 && memcmp(out, "********", 8) == 0);
	mask_release(&mask);
}

static void nothing_is_held_but_what_may_be_a_begin(void)
{
	AUTO(forms)
	struct mask_forms *forms = mask_forms_new("sk-key-1", 8, NULL);
	struct mask mask;
	uint8_t out[64];

	REQUIRE(forms);
	mask_init(&mask);
	mask_add(&mask, forms);
	CHECK(mask_feed(&mask, "data: x\n\n", 9, out) == 9);
	CHECK(mask_feed(&mask, "data: sk-", 9, out) == 6);
	CHECK(mask_feed(&mask, "no", 2, out) == 5);
	CHECK(memcmp(out, "sk-no", 5) == 0);
	CHECK(mask_feed(&mask, "", 0, out) == 0);
	mask_release(&mask);
}

static void what_cannot_be_masked_is_refused(void)
{
	static char huge[1 << 20];

	CHECK(!mask_forms_new("", 0, NULL));
	CHECK(!mask_forms_new(huge, sizeof(huge), NULL));
}

int main(void)
{
	RUN(each_form_is_masked_however_it_comes);
	RUN(base64_is_found_at_every_place);
	RUN(two_secrets_are_masked_at_once);
	RUN(the_longer_of_two_is_masked_whole);
	RUN(nothing_is_held_but_what_may_be_a_begin);
	RUN(what_cannot_be_masked_is_refused);
	return DONE();
}

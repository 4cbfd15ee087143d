/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_registry_url.c - where a registry sends us
 */
#include "image/registry_url.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

static struct error err;

static void what_is_encrypted_is_followed(void)
{
	static const struct {
		const char *from, *location, *to;
		bool same;
	} rows[] = {
		{ "https://r.example/v2/a", "/b?c=d", "https://r.example/b?c=d",
		  true },
		{ "https://r.example/v2/a", "https://r.example:443/b",
		  "https://r.example:443/b", true },
		{ "https://r.example/v2/a", "https://cdn.example/b",
		  "https://cdn.example/b", false },
		{ "https://r.example/v2/a", "https://r.example:444/b",
		  "https://r.example:444/b", false },
		{ "https://r.example/v2/a", "//other.example/b",
		  "https://other.example/b", false },
		{ "https://r.example/", "https://r.example.evil.example/",
		  "https://r.example.evil.example/", false },
		{ "http://localhost:5000/v2/", "http://127.0.0.1:6/x",
		  "http://127.0.0.1:6/x", false },
		{ "http://localhost:5000/v2/", "http://localhost:5000/x",
		  "http://localhost:5000/x", true },
		{ "http://localhost:5000/v2/", "https://localhost:5000/x",
		  "https://localhost:5000/x", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char to[HTTP_URL_MAX];
		bool same;

		CHECK(registry_url_join(rows[i].from, rows[i].location, to,
					&same, &err) == 0);
		CHECK(!strcmp(to, rows[i].to));
		CHECK(same == rows[i].same);
	}
}

static void the_rest_is_not(void)
{
	static const char *const rows[][2] = {
		{ "https://r.example/", "http://r.example/" },
		{ "https://r.example/", "http://127.0.0.1/" },
		{ "http://localhost:5000/", "http://r.example/" },
		{ "http://localhost:5000/", "http://169.254.169.254/" },
		{ "https://r.example/", "file:///etc/passwd" },
		{ "https://r.example/", "ftp://r.example/" },
		{ "https://r.example/", "gopher://r.example/" },
		{ "https://r.example/", "https://user:pw@r.example/" },
		{ "https://r.example/", "https://user@r.example/" },
		{ "https://r.example/", "javascript:x" },
		{ "https://r.example/", "https://" },
		{ "https://r.example/", "https://a b/" },
	};
	char to[HTTP_URL_MAX];
	bool same;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(registry_url_join(rows[i][0], rows[i][1], to, &same,
					&err) < 0);
}

static void queries_are_escaped(void)
{
	char url[HTTP_URL_MAX] = "https://a.example/t?x=y";

	CHECK(registry_url_add(url, "scope", "repository:a/b:pull&z=1", &err) ==
	      0);
	CHECK(!strcmp(url, "https://a.example/t?x=y&scope="
			   "repository%3aa%2fb%3apull%26z%3d1"));
}

int main(void)
{
	RUN(what_is_encrypted_is_followed);
	RUN(the_rest_is_not);
	RUN(queries_are_escaped);
	return DONE();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_url.c - where a registry sends us: what is followed, and what of
 * the login goes along
 */
#include "image/registry_url.h"

#include <curl/curl.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/reference.h"

AUTO_DEFINE(url, CURLU *, curl_url_cleanup)

/* Parts that decide; "" where there is none. */
struct origin {
	char scheme[8];
	char host[REFERENCE_HOST_MAX];
	char port[8];
};

static int take_part(CURLU *url, CURLUPart part, unsigned flags, char *to,
		     size_t size)
{
	char *text = NULL;
	int result;

	if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
		return -1;
	result = text_copy(to, size, text);
	curl_free(text);
	return result;
}

static bool has_part(CURLU *url, CURLUPart part)
{
	char *text = NULL;
	bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

static int take_origin(CURLU *url, struct origin *origin, struct error *err)
{
	if (take_part(url, CURLUPART_SCHEME, 0, origin->scheme,
		      sizeof(origin->scheme)) < 0 ||
	    take_part(url, CURLUPART_HOST, 0, origin->host,
		      sizeof(origin->host)) < 0 ||
	    take_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, origin->port,
		      sizeof(origin->port)) < 0)
		return error_set(err, 0, "an address is malformed");
	return 0;
}

static int check(CURLU *url, const struct origin *from, const struct origin *to,
		 struct error *err)
{
	char shown[120];

	text_printable(to->host, strlen(to->host), shown, sizeof(shown));
	if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
		return error_set(err, 0,
				 "it sends us to %s with a login, which is "
				 "not followed",
				 shown);
	if (strcmp(to->scheme, "https") == 0)
		return 0;
	if (strcmp(to->scheme, "http") == 0 &&
	    strcmp(from->scheme, "http") == 0 &&
	    reference_is_loopback(to->host))
		return 0;
	return error_set(err, 0,
			 "it sends us to %s without encryption, which is not "
			 "followed",
			 shown);
}

int registry_url_join(const char *from, const char *location,
		      char to[HTTP_URL_MAX], bool *same_origin,
		      struct error *err)
{
	AUTO(url) CURLU *url = curl_url();
	struct origin old, fresh;

	*same_origin = false;
	if (!url)
		abort();
	if (curl_url_set(url, CURLUPART_URL, from, 0) != CURLUE_OK ||
	    take_origin(url, &old, err) < 0)
		return error_set(err, 0, "an address is malformed");
	/* relative to what is there already */
	if (curl_url_set(url, CURLUPART_URL, location, 0) != CURLUE_OK ||
	    take_origin(url, &fresh, err) < 0)
		return error_set(err, 0, "it sends us to no proper address");
	if (check(url, &old, &fresh, err) < 0)
		return -1;
	(void)curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
	if (take_part(url, CURLUPART_URL, 0, to, HTTP_URL_MAX) < 0)
		return error_set(err, 0, "an address is too long");
	*same_origin = strcmp(old.scheme, fresh.scheme) == 0 &&
		       strcmp(old.host, fresh.host) == 0 &&
		       strcmp(old.port, fresh.port) == 0;
	return 0;
}

int registry_url_add(char text[HTTP_URL_MAX], const char *key,
		     const char *value, struct error *err)
{
	AUTO(url) CURLU *url = curl_url();
	AUTO_FREE char *pair = xasprintf("%s=%s", key, value);

	if (!url)
		abort();
	if (curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK ||
	    curl_url_set(url, CURLUPART_QUERY, pair,
			 CURLU_APPENDQUERY | CURLU_URLENCODE) != CURLUE_OK ||
	    take_part(url, CURLUPART_URL, 0, text, HTTP_URL_MAX) < 0)
		return error_set(err, 0, "an address is malformed");
	return 0;
}

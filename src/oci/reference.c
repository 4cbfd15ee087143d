/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.c - names of images, as people and registries write them
 */
#include "oci/reference.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define OFFICIAL "library/"
#define LABEL_MAX 63

static int refuse(const char *text, const char *why, struct error *err)
{
	char shown[120];

	text_printable(text, strlen(text), shown, sizeof(shown));
	return error_set(err, 0, "\"%s\" is no name of an image: %s", shown,
			 why);
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static bool port_is_valid(const char *port)
{
	uint64_t number;

	return text_to_u64(port, 1, 65535, &number) == 0;
}

/* [::1], [::1]:5000 */
static bool literal_is_valid(const char *host)
{
	const char *end = strchr(host, ']');
	char address[64];
	struct in6_addr unused;

	if (!end || text_format(address, sizeof(address), "%.*s",
				(int)(end - host - 1), host + 1) < 0)
		return false;
	return inet_pton(AF_INET6, address, &unused) == 1 &&
	       (!end[1] || (end[1] == ':' && port_is_valid(end + 2)));
}

static bool label_is_valid(const char *label, size_t len)
{
	return len && len <= LABEL_MAX &&
	       strspn(label, LOWER UPPER DIGITS "-") >= len &&
	       label[0] != '-' && label[len - 1] != '-';
}

bool reference_host_is_valid(const char *host)
{
	const char *at = host;

	if (strlen(host) >= REFERENCE_HOST_MAX)
		return false;
	if (host[0] == '[')
		return literal_is_valid(host);
	for (;;) {
		size_t len = strcspn(at, ".:");

		if (!label_is_valid(at, len))
			return false;
		if (at[len] == ':')
			return port_is_valid(at + len + 1);
		if (!at[len])
			return true;
		at += len + 1;
	}
}

/* Lower-case letters and digits, joined by one of ".", "_", "__", "-…". */
static bool component_is_valid(const char *part, size_t len)
{
	size_t at = 0;

	while (at < len && is_one_of(part[at], LOWER DIGITS)) {
		at += strspn(part + at, LOWER DIGITS);
		if (at >= len)
			return true;
		if (part[at] == '-')
			at += strspn(part + at, "-");
		else if (strncmp(part + at, "__", 2) == 0)
			at += 2;
		else if (part[at] == '.' || part[at] == '_')
			at++;
	}
	return false;
}

static bool repository_is_valid(const char *repository)
{
	const char *at = repository;

	for (;;) {
		size_t len = strcspn(at, "/");

		if (!component_is_valid(at, len))
			return false;
		if (!at[len])
			return true;
		at += len + 1;
	}
}

static bool tag_is_valid(const char *tag)
{
	return is_one_of(tag[0], LOWER UPPER DIGITS "_") &&
	       !tag[strspn(tag, LOWER UPPER DIGITS "_.-")];
}

/* The first part names a registry, or is already of the repository. */
static bool names_registry(const char *part, size_t len)
{
	return strcspn(part, ".:[") < len ||
	       (len == strlen("localhost") &&
		strncmp(part, "localhost", len) == 0);
}

static int take_host(const char *text, char *name, const char **repository,
		     struct reference *reference, struct error *err)
{
	char *slash = strchr(name, '/');

	text_copy(reference->host, sizeof(reference->host),
		  REFERENCE_DEFAULT_HOST);
	*repository = name;
	if (!slash)
		return 0;
	*slash = '\0';
	if (!names_registry(name, strlen(name))) {
		*slash = '/';
		return 0;
	}
	if (!reference_host_is_valid(name))
		return refuse(text, "the registry's name is malformed", err);
	for (char *c = name; *c; c++)
		if (strchr(UPPER, *c))
			*c += 'a' - 'A';
	if (strcmp(name, "index.docker.io") != 0)
		text_copy(reference->host, sizeof(reference->host), name);
	*repository = slash + 1;
	return 0;
}

static int take_digest(const char *text, char *name,
		       struct reference *reference, struct error *err)
{
	char *at = strchr(name, '@');

	if (!at)
		return 0;
	*at++ = '\0';
	if (!digest_name_is_valid(at))
		return refuse(text, "its digest is malformed", err);
	text_copy(reference->digest, sizeof(reference->digest), at);
	return 0;
}

static int take_tag(const char *text, char *name, struct reference *reference,
		    struct error *err)
{
	char *slash = strrchr(name, '/'), *tag;

	tag = strchr(slash ? slash : name, ':');
	if (!tag) {
		if (!reference->digest[0])
			text_copy(reference->tag, sizeof(reference->tag),
				  "latest");
		return 0;
	}
	*tag++ = '\0';
	if (!tag_is_valid(tag) ||
	    text_copy(reference->tag, sizeof(reference->tag), tag) < 0)
		return refuse(text, "its tag is malformed", err);
	return 0;
}

/* 64 hex digits alone are an id, and must not become a name. */
static bool looks_like_id(const char *name)
{
	return strlen(name) == 64 && strspn(name, DIGITS "abcdef") == 64;
}

int reference_parse(const char *text, struct reference *reference,
		    struct error *err)
{
	char name[REFERENCE_TEXT_MAX];
	const char *repository;
	bool official;

	*reference = (struct reference){ .tag = "" };
	if (!*text)
		return refuse(text, "it is empty", err);
	if (text_copy(name, sizeof(name), text) < 0)
		return refuse(text, "it is too long", err);
	if (looks_like_id(name))
		return refuse(text, "it is an id", err);
	if (take_digest(text, name, reference, err) < 0 ||
	    take_tag(text, name, reference, err) < 0 ||
	    take_host(text, name, &repository, reference, err) < 0)
		return -1;
	if (strcspn(repository, UPPER) != strlen(repository))
		return refuse(text, "it must be in lower case", err);
	if (!repository_is_valid(repository))
		return refuse(text, "it is malformed", err);
	official = strcmp(reference->host, REFERENCE_DEFAULT_HOST) == 0 &&
		   !strchr(repository, '/');
	if (text_format(reference->repository, sizeof(reference->repository),
			"%s%s", official ? OFFICIAL : "", repository) < 0)
		return refuse(text, "it is too long", err);
	return 0;
}

static void format(const struct reference *reference, const char *start,
		   const char *repository, char *text)
{
	text_format(text, REFERENCE_TEXT_MAX, "%s%s%s%s%s%s%s", start,
		    *start ? "/" : "", repository, reference->tag[0] ? ":" : "",
		    reference->tag, reference->digest[0] ? "@" : "",
		    reference->digest);
}

void reference_format(const struct reference *reference,
		      char text[REFERENCE_TEXT_MAX])
{
	format(reference, reference->host, reference->repository, text);
}

void reference_familiar(const struct reference *reference,
			char text[REFERENCE_TEXT_MAX])
{
	const char *repository = reference->repository;

	size_t first = strcspn(repository, "/");

	/* docker.io/a.b/c must not become a.b/c, which is on a.b */
	if (strcmp(reference->host, REFERENCE_DEFAULT_HOST) != 0 ||
	    (repository[first] && names_registry(repository, first))) {
		reference_format(reference, text);
		return;
	}
	if (text_starts(repository, OFFICIAL) &&
	    !strchr(repository + strlen(OFFICIAL), '/'))
		repository += strlen(OFFICIAL);
	format(reference, "", repository, text);
}

bool reference_is_loopback(const char *host)
{
	char name[REFERENCE_HOST_MAX];
	struct in_addr address;
	struct in6_addr six;
	size_t len;

	if (host[0] == '[') {
		len = strcspn(host + 1, "]");
		text_format(name, sizeof(name), "%.*s", (int)len, host + 1);
		return inet_pton(AF_INET6, name, &six) == 1 &&
		       IN6_IS_ADDR_LOOPBACK(&six);
	}
	len = strcspn(host, ":");
	text_format(name, sizeof(name), "%.*s", (int)len, host);
	if (strcmp(name, "localhost") == 0)
		return true;
	return inet_pton(AF_INET, name, &address) == 1 &&
	       ntohl(address.s_addr) >> 24 == 127;
}

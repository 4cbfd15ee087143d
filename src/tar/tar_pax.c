/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_pax.c - pax records: what a ustar header cannot say
 */
#include "tar/tar_pax.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "tar/tar_header.h"

struct record {
	char *key;   /* NUL-terminated */
	char *value; /* NUL-terminated; may hold more of them */
	size_t len;
};

/* The next record of [*at, end); 0 at the end, -1 when it is none. */
static int next_record(char **at, char *end, struct record *record)
{
	char *pos = *at, *equals;
	size_t total = 0;

	if (pos == end)
		return 0;
	for (; pos < end && *pos >= '0' && *pos <= '9'; pos++) {
		total = total * 10 + (size_t)(*pos - '0');
		if (total > TAR_META_MAX)
			return -1;
	}
	if (pos == *at || pos == end || *pos != ' ' ||
	    total > (size_t)(end - *at) || total <= (size_t)(pos + 1 - *at))
		return -1;
	end = *at + total;
	if (end[-1] != '\n')
		return -1;
	record->key = pos + 1;
	equals = memchr(record->key, '=', (size_t)(end - 1 - record->key));
	if (!equals || equals == record->key ||
	    memchr(record->key, '\0', (size_t)(equals - record->key)))
		return -1;
	*equals = '\0';
	record->value = equals + 1;
	record->len = (size_t)(end - 1 - record->value);
	end[-1] = '\0';
	*at = end;
	return 1;
}

/* "123.456789": digits after the ninth are dropped, as the kernel has none. */
static int parse_time(const struct record *record, int64_t *seconds,
		      uint32_t *ns)
{
	char whole[24];
	const char *text = record->value;
	bool negative = text[0] == '-';
	const char *dot;
	uint64_t value;
	uint32_t scale = 100000000;

	text += negative;
	if (strlen(record->value) != record->len)
		return -1;
	dot = strchr(text, '.');
	if (text_format(whole, sizeof(whole), "%.*s",
			(int)(dot ? (size_t)(dot - text) : strlen(text)),
			text) < 0 ||
	    text_to_u64(whole, 0, INT64_MAX / 2, &value) < 0)
		return -1;
	*ns = 0;
	for (dot = dot ? dot + 1 : ""; *dot; dot++, scale /= 10) {
		if (*dot < '0' || *dot > '9')
			return -1;
		*ns += (uint32_t)(*dot - '0') * scale;
	}
	*seconds = negative ? -(int64_t)value : (int64_t)value;
	if (negative && *ns) {
		*seconds -= 1;
		*ns = 1000000000u - *ns;
	}
	return 0;
}

static int parse_size(const struct record *record, uint64_t *size)
{
	if (strlen(record->value) != record->len)
		return -1;
	return text_to_u64(record->value, 0, INT64_MAX, size);
}

/* In place; it becomes no longer. */
static void decode_name(char *name)
{
	char *to = name;

	for (const char *at = name; *at; to++) {
		bool is_equals = text_starts(at, TAR_PAX_EQUALS);

		if (is_equals || text_starts(at, TAR_PAX_PERCENT)) {
			*to = is_equals ? '=' : '%';
			at += strlen(TAR_PAX_EQUALS);
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

static int add_xattr(struct tar_pax *pax, const struct record *record,
		     struct error *err)
{
	char *name = record->key + strlen(TAR_PAX_XATTR);

	decode_name(name);
	if (!text_starts(name, TAR_XATTR_PREFIX) ||
	    !name[strlen(TAR_XATTR_PREFIX)])
		return 0;
	if (pax->xattr_count == TAR_XATTRS_MAX)
		return error_set(err, 0, "more than %d attributes",
				 TAR_XATTRS_MAX);
	if (strlen(name) > TAR_NAME_MAX)
		return error_set(err, 0,
				 "the name of an attribute is too long");
	pax->xattrs[pax->xattr_count++] =
		(struct tar_xattr){ name, record->value, record->len };
	return 0;
}

static int take(struct tar_pax *pax, const struct record *record,
		struct error *err)
{
	const char *key = record->key;
	int bad = 0;

	if (!strcmp(key, "path")) {
		pax->path = record->value;
		pax->path_len = record->len;
	} else if (!strcmp(key, "linkpath")) {
		pax->target = record->value;
		pax->target_len = record->len;
	} else if (!strcmp(key, "size")) {
		pax->has_size = true;
		bad = parse_size(record, &pax->size);
	} else if (!strcmp(key, "mtime")) {
		pax->has_mtime = true;
		bad = parse_time(record, &pax->mtime, &pax->mtime_ns);
	} else if (!strcmp(key, TAR_PAX_NOTE)) {
		pax->note = record->value;
		bad = strlen(record->value) == record->len ? 0 : -1;
	} else if (text_starts(key, TAR_PAX_XATTR)) {
		return add_xattr(pax, record, err);
	} else if (text_starts(key, "GNU.sparse.")) {
		return error_set(err, 0, "sparse files are not supported");
	}
	return bad ? error_set(err, 0, "bad pax record \"%s\"", key) : 0;
}

int tar_pax_parse(char *bytes, size_t len, struct tar_pax *pax,
		  struct error *err)
{
	struct record record;
	char *at = bytes;
	int got;

	while ((got = next_record(&at, bytes + len, &record)) > 0)
		if (take(pax, &record, err) < 0)
			return -1;
	return got < 0 ? error_set(err, 0, "bad pax records") : 0;
}

int tar_pax_check_global(char *bytes, size_t len, struct error *err)
{
	struct tar_pax pax = { 0 };

	if (tar_pax_parse(bytes, len, &pax, err) < 0)
		return -1;
	if (pax.path || pax.target || pax.note || pax.has_size ||
	    pax.has_mtime || pax.xattr_count)
		return error_set(err, 0,
				 "a global header that changes its entries");
	return 0;
}

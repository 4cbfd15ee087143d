/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_mask.c - placeholders of secrets out of the files of a sandbox
 */
#include "cli/save_mask.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/own.h"
#include "cli/store.h"
#include "state/secret_store.h"

/* As much as agents keep of a key to know it again (agent_seed.h). */
#define TAIL 20
/* A shorter one could be a word of somebody's. */
#define SHORTEST 12

AUTO_DEFINE(json, json_t *, json_decref)

size_t save_mask_bytes(void *bytes, size_t len, const char *placeholder)
{
	size_t whole = strlen(placeholder);
	size_t tail = whole < TAIL ? whole : TAIL;
	size_t before = whole - tail, count = 0;
	uint8_t *at = bytes, *end = at + len, *found;

	if (whole < SHORTEST)
		return 0;
	while ((found = memmem(at, (size_t)(end - at), placeholder + before,
			       tail))) {
		at = found + tail;
		if ((size_t)(found - (uint8_t *)bytes) >= before &&
		    memcmp(found - before, placeholder, before) == 0)
			found -= before;
		memset(found, '*', (size_t)(at - found));
		count++;
	}
	return count;
}

/* Texts of "placeholders", and those that are called "placeholder". */
static void mask_all(void *bytes, size_t len, const json_t *json, bool named)
{
	const char *key, *text;
	json_t *value;
	size_t i;

	json_array_foreach(json, i, value) mask_all(bytes, len, value, named);
	json_object_foreach((json_t *)json, key, value)
	{
		text = json_string_value(value);
		if (text && (named || !strcmp(key, "placeholder")))
			save_mask_bytes(bytes, len, text);
		else if (!text)
			mask_all(bytes, len, value,
				 named || !strcmp(key, "placeholders"));
	}
}

int save_mask_file(int fd, const struct sandbox *sandbox, struct error *err)
{
	AUTO_CLOSE int folder = secret_store_open(err);
	AUTO(json) json_t *own = NULL;
	AUTO(json) json_t *all = NULL;
	struct stat st;
	void *bytes;

	if (folder < 0)
		return -1;
	own = secret_store_load(folder, sandbox->record.id, err);
	/* A login that was made here may be one of all sandboxes. */
	all = own ? secret_store_load(folder, SECRET_STORE_ALL, err) : NULL;
	if (!all)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "the archive");
	if (!st.st_size)
		return 0;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return error_set(err, errno, "the archive");
	mask_all(bytes, (size_t)st.st_size, own, false);
	mask_all(bytes, (size_t)st.st_size, all, false);
	munmap(bytes, (size_t)st.st_size);
	return 0;
}

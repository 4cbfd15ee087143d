/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_file.c - content of a known digest on its way into a file
 */
#include "image/blob_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "image/hash.h"

#define CHUNK (256u * 1024)
#define WRONG_MAX 2

static int read_beginning(struct blob_file *file, struct error *err)
{
	AUTO_FREE uint8_t *chunk = xmalloc(CHUNK);
	ssize_t got;

	while ((got = pread(file->fd, chunk, CHUNK, (off_t)file->have)) > 0) {
		hash_add(file->hash, chunk, (size_t)got);
		file->have += (uint64_t)got;
	}
	return got < 0 ? error_set(err, errno, "reading a layer") : 0;
}

int blob_file_init(struct blob_file *file, int fd,
		   const struct image_descriptor *descriptor, struct error *err)
{
	struct stat st;

	*file = (struct blob_file){ .fd = fd, .descriptor = *descriptor };
	file->hash = hash_new(digest_name_algorithm(descriptor->digest));
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "a layer's file");
	if ((uint64_t)st.st_size > descriptor->size)
		return blob_file_reset(file, err);
	return read_beginning(file, err);
}

void blob_file_release(struct blob_file *file)
{
	hash_free(file->hash);
	file->hash = NULL;
}

int blob_file_reset(struct blob_file *file, struct error *err)
{
	hash_free(file->hash);
	file->hash = hash_new(digest_name_algorithm(file->descriptor.digest));
	file->have = 0;
	if (ftruncate(file->fd, 0) < 0)
		return error_set(err, errno, "a layer's file");
	return 0;
}

int blob_file_append(struct blob_file *file, const void *bytes, size_t len,
		     struct error *err)
{
	if (len > file->descriptor.size - file->have)
		return error_set(err, 0,
				 "%.19s...: more came than the %llu bytes that "
				 "there should be",
				 file->descriptor.digest,
				 (unsigned long long)file->descriptor.size);
	if (fileio_pwrite_all(file->fd, bytes, len, (off_t)file->have, err) < 0)
		return error_prefix(err, "writing a layer");
	hash_add(file->hash, bytes, len);
	file->have += len;
	return 0;
}

int blob_file_check(struct blob_file *file, struct error *err)
{
	char name[DIGEST_NAME_MAX];

	if (file->have < file->descriptor.size) {
		error_set(err, 0, "%.19s...: only %llu of %llu bytes came",
			  file->descriptor.digest,
			  (unsigned long long)file->have,
			  (unsigned long long)file->descriptor.size);
		return 1;
	}
	hash_finish(file->hash, name);
	if (strcmp(name, file->descriptor.digest) == 0)
		return 0;
	if (blob_file_reset(file, err) < 0)
		return -1;
	error_set(err, 0, "%.19s...: what came has another digest (%.19s...)",
		  file->descriptor.digest, name);
	return ++file->wrong >= WRONG_MAX ? -1 : 1;
}

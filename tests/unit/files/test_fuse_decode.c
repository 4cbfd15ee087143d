/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fuse_decode.c - what a kernel sends decodes, all else is refused
 */
#include "files/fuse_decode.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/tap.h"

static uint8_t message[FUSE_REQUEST_MAX + 64];

/* Header, fixed part of zeros, then the tail as it is. */
static size_t build(uint32_t opcode, const void *fixed, size_t fixed_len,
		    const void *tail, size_t tail_len)
{
	struct fuse_in_header head = { .opcode = opcode,
				       .unique = 7,
				       .nodeid = 1 };
	size_t len = sizeof(head) + fixed_len + tail_len;

	head.len = (uint32_t)len;
	memcpy(message, &head, sizeof(head));
	if (fixed_len)
		memcpy(message + sizeof(head), fixed, fixed_len);
	if (tail_len)
		memcpy(message + sizeof(head) + fixed_len, tail, tail_len);
	return len;
}

/* From memory of exactly that size, so that ASan sees one byte too many. */
static int decode(size_t len, struct fuse_request *request)
{
	uint8_t *exact = malloc(len ? len : 1);
	int result;

	memcpy(exact, message, len);
	if (len >= 4)
		memcpy(exact, &(uint32_t){ (uint32_t)len }, 4);
	result = fuse_decode(exact, len, request);
	free(exact);
	return result;
}

static int decode_name(uint32_t opcode, const char *name, size_t len)
{
	struct fuse_request request;

	return decode(build(opcode, NULL, 0, name, len), &request);
}

static void a_lookup_has_one_name(void)
{
	struct fuse_request request;
	size_t len = build(FUSE_LOOKUP, NULL, 0, "name", 5);

	CHECK(fuse_decode(message, len, &request) == 0);
	CHECK(request.opcode == FUSE_LOOKUP && request.unique == 7 &&
	      request.node == 1);
	CHECK(strcmp(request.name, "name") == 0);
	CHECK(decode_name(FUSE_LOOKUP, "name", 4) == EINVAL);
	CHECK(decode_name(FUSE_LOOKUP, "name\0x", 6) == EINVAL);
	CHECK(decode_name(FUSE_LOOKUP, "", 0) == EINVAL);
}

static void names_are_single_components(void)
{
	char longest[FUSE_COMPONENT_MAX + 2];

	CHECK(decode_name(FUSE_UNLINK, "", 1) == EINVAL);
	CHECK(decode_name(FUSE_UNLINK, ".", 2) == EINVAL);
	CHECK(decode_name(FUSE_UNLINK, "..", 3) == EINVAL);
	CHECK(decode_name(FUSE_UNLINK, "a/b", 4) == EINVAL);
	CHECK(decode_name(FUSE_UNLINK, "/", 2) == EINVAL);
	CHECK(decode_name(FUSE_UNLINK, "...", 4) == 0);
	memset(longest, 'n', sizeof(longest));
	longest[FUSE_COMPONENT_MAX + 1] = '\0';
	CHECK(decode_name(FUSE_UNLINK, longest, FUSE_COMPONENT_MAX + 2) ==
	      ENAMETOOLONG);
	longest[FUSE_COMPONENT_MAX] = '\0';
	CHECK(decode_name(FUSE_UNLINK, longest, FUSE_COMPONENT_MAX + 1) == 0);
}

static void a_symlink_has_a_name_and_any_target(void)
{
	struct fuse_request request;
	size_t len = build(FUSE_SYMLINK, NULL, 0, "n\0../../t", 10);

	CHECK(fuse_decode(message, len, &request) == 0);
	CHECK(strcmp(request.name, "n") == 0 &&
	      strcmp(request.name2, "../../t") == 0);
	len = build(FUSE_SYMLINK, NULL, 0, "n\0", 3);
	CHECK(fuse_decode(message, len, &request) == EINVAL);
}

static void a_write_carries_what_it_claims(void)
{
	struct fuse_write_in in = { .size = 4 };
	struct fuse_request request;
	size_t len = build(FUSE_WRITE, &in, sizeof(in), "four", 4);

	CHECK(fuse_decode(message, len, &request) == 0);
	CHECK(request.data_len == 4 && !memcmp(request.data, "four", 4));
	for (uint32_t claimed = 0; claimed < 5000; claimed++) {
		in.size = claimed;
		len = build(FUSE_WRITE, &in, sizeof(in), "four", 4);
		CHECK((decode(len, &request) == 0) == (claimed == 4));
	}
	in.size = UINT32_MAX;
	len = build(FUSE_WRITE, &in, sizeof(in), "four", 4);
	CHECK(decode(len, &request) == EINVAL);
}

static void data_of_a_write_may_lie_elsewhere(void)
{
	static const uint8_t there[8];
	struct fuse_write_in in = { .size = 4, .offset = 7 };
	struct fuse_request request;
	size_t len = build(FUSE_WRITE, &in, sizeof(in), "four", 4) - 4;

	CHECK(fuse_decode_write(message, len, there, 4, &request) == 0);
	CHECK(request.opcode == FUSE_WRITE && request.data == there &&
	      request.data_len == 4 && request.in.write.offset == 7);
	for (size_t other = 0; other <= sizeof(there); other++) {
		if (other != 4)
			CHECK(fuse_decode_write(message, len, there, other,
						&request) == EBADMSG);
	}
	for (size_t cut = 0; cut < len; cut++)
		CHECK(fuse_decode_write(message, cut, there, 4 + len - cut,
					&request) == EBADMSG);
	CHECK(fuse_decode_write(message, len + 4, there, 0, &request) ==
	      EBADMSG);
	in.size = 3;
	build(FUSE_WRITE, &in, sizeof(in), "four", 4);
	CHECK(fuse_decode_write(message, len, there, 4, &request) == EINVAL);
	len = build(FUSE_READ, &in, sizeof(in), "four", 4) - 4;
	CHECK(fuse_decode_write(message, len, there, 4, &request) == EBADMSG);
}

static void forgets_are_counted(void)
{
	struct fuse_batch_forget_in in = { .count = 2 };
	struct fuse_forget_one ones[2] = { { 5, 1 }, { 6, 2 } };
	struct fuse_request request;
	size_t len =
		build(FUSE_BATCH_FORGET, &in, sizeof(in), ones, sizeof(ones));

	CHECK(fuse_decode(message, len, &request) == 0);
	CHECK(request.data_len == sizeof(ones));
	in.count = 3;
	len = build(FUSE_BATCH_FORGET, &in, sizeof(in), ones, sizeof(ones));
	CHECK(decode(len, &request) == EINVAL);
	in.count = 0x10000002; /* 16 times this is 32 in 32 bits */
	len = build(FUSE_BATCH_FORGET, &in, sizeof(in), ones, sizeof(ones));
	CHECK(decode(len, &request) == EINVAL);
}

static void every_opcode_at_every_truncation(void)
{
	struct fuse_request request;

	memset(message, 0, 256);
	for (uint32_t opcode = 0; opcode < 64; opcode++) {
		for (size_t len = 0; len < 200; len++) {
			int result;

			build(opcode, NULL, 0, NULL, 0);
			result = decode(len, &request);
			if (len < sizeof(struct fuse_in_header))
				CHECK(result == EBADMSG);
			else if (!fuse_opcode_name(opcode))
				CHECK(result == ENOSYS);
			else
				CHECK(result == 0 || result == EINVAL);
		}
	}
}

static void the_header_says_the_length(void)
{
	struct fuse_request request;
	size_t len = build(FUSE_STATFS, NULL, 0, NULL, 0);

	CHECK(fuse_decode(message, len, &request) == 0);
	CHECK(fuse_decode(message, len + 1, &request) == EBADMSG);
	CHECK(fuse_decode(message, len - 1, &request) == EBADMSG);
	memcpy(message, &(uint32_t){ UINT32_MAX }, 4);
	CHECK(fuse_decode(message, len, &request) == EBADMSG);
}

static void extensions_are_refused(void)
{
	struct fuse_request request;
	size_t len = build(FUSE_STATFS, NULL, 0, NULL, 0);

	message[offsetof(struct fuse_in_header, total_extlen)] = 1;
	CHECK(fuse_decode(message, len, &request) == EINVAL);
}

int main(void)
{
	RUN(a_lookup_has_one_name);
	RUN(names_are_single_components);
	RUN(a_symlink_has_a_name_and_any_target);
	RUN(a_write_carries_what_it_claims);
	RUN(data_of_a_write_may_lie_elsewhere);
	RUN(forgets_are_counted);
	RUN(every_opcode_at_every_truncation);
	RUN(the_header_says_the_length);
	RUN(extensions_are_refused);
	return DONE();
}

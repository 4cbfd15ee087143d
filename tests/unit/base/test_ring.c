/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ring.c - unit tests of base/ring.h
 */
#include "base/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/tap.h"

static void ring_auto(struct ring *ring)
{
	ring_release(ring);
}
#define AUTO_RING __attribute__((cleanup(ring_auto)))

static void written_bytes_come_back_in_order(void)
{
	AUTO_RING struct ring ring;
	char out[8] = "";

	ring_init(&ring, 8);
	CHECK(!ring.data && ring_space(&ring) == 8);
	CHECK(ring_write(&ring, "hello", 5) == 5);
	CHECK(ring_space(&ring) == 3);
	CHECK(ring_read(&ring, out, sizeof(out)) == 5);
	CHECK(memcmp(out, "hello", 5) == 0);
	CHECK(ring_read(&ring, out, sizeof(out)) == 0);
}

static void full_ring_takes_what_fits(void)
{
	AUTO_RING struct ring ring;

	ring_init(&ring, 4);
	CHECK(ring_write(&ring, "abcdef", 6) == 4);
	CHECK(ring_write(&ring, "x", 1) == 0);
	CHECK(ring_space(&ring) == 0);
}

static void every_offset_and_length_survives_wrapping(void)
{
	AUTO_RING struct ring ring;
	uint8_t next_in = 0, next_out = 0;

	ring_init(&ring, 7);
	for (unsigned step = 0; step < 2000; step++) {
		uint8_t bytes[7];
		size_t want = step * 5 % 8, got;

		for (size_t i = 0; i < want; i++)
			bytes[i] = (uint8_t)(next_in + i);
		next_in = (uint8_t)(next_in + ring_write(&ring, bytes, want));
		CHECK(ring.len <= 7);
		got = ring_read(&ring, bytes, step * 3 % 8);
		for (size_t i = 0; i < got; i++)
			CHECK(bytes[i] == next_out++);
	}
}

static void pieces_cover_data_and_space(void)
{
	AUTO_RING struct ring ring;
	struct iovec iov[2];
	char out[4];

	ring_init(&ring, 8);
	CHECK(ring_readable(&ring, iov) == 0);
	CHECK(ring_writable(&ring, iov) == 1 && iov[0].iov_len == 8);
	CHECK(ring_write(&ring, "abcdef", 6) == 6);
	CHECK(ring_read(&ring, out, 4) == 4);
	CHECK(ring_writable(&ring, iov) == 2);
	CHECK(iov[0].iov_len == 2 && iov[1].iov_len == 4);
	memcpy(iov[0].iov_base, "gh", 2);
	memcpy(iov[1].iov_base, "ij", 2);
	ring_produced(&ring, 4);
	CHECK(ring_readable(&ring, iov) == 2);
	CHECK(iov[0].iov_len == 4 && memcmp(iov[0].iov_base, "efgh", 4) == 0);
	CHECK(iov[1].iov_len == 2 && memcmp(iov[1].iov_base, "ij", 2) == 0);
	ring_consume(&ring, 5);
	CHECK(ring_readable(&ring, iov) == 1 && iov[0].iov_len == 1);
	CHECK(memcmp(iov[0].iov_base, "j", 1) == 0);
}

static void trim_gives_memory_back_only_when_empty(void)
{
	AUTO_RING struct ring ring;
	char out[4];

	ring_init(&ring, 4);
	CHECK(ring_write(&ring, "ab", 2) == 2);
	ring_trim(&ring);
	CHECK(ring.data && ring.len == 2);
	CHECK(ring_read(&ring, out, 4) == 2);
	ring_trim(&ring);
	CHECK(!ring.data && ring.capacity == 4);
	CHECK(ring_write(&ring, "cd", 2) == 2);
}

static void memory_grows_with_what_is_in_it(void)
{
	static uint8_t bytes[300 * 1024];
	AUTO_RING struct ring ring;
	struct iovec iov[2];
	uint8_t out[5000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	ring_init(&ring, 256 * 1024);
	CHECK(ring_write(&ring, bytes, 100) == 100);
	CHECK(ring.size == 4096);
	CHECK(ring_read(&ring, out, 50) == 50);
	/* Wraps first, then moves to larger memory in order. */
	CHECK(ring_write(&ring, bytes + 100, 4000) == 4000);
	CHECK(ring.size == 4096);
	CHECK(ring_write(&ring, bytes + 4100, 900) == 900);
	CHECK(ring.size == 8192 && ring.len == 4950);
	CHECK(ring_read(&ring, out, 4950) == 4950);
	CHECK(!memcmp(out, bytes + 50, 4950));
	CHECK(ring_room(&ring, 60000, iov) == 1 && iov[0].iov_len == 65536);
	CHECK(ring_write(&ring, bytes, sizeof(bytes)) == 256 * 1024);
	CHECK(ring.size == ring.capacity && ring_room(&ring, 1, iov) == 0);
	CHECK(ring_read(&ring, out, 5000) == 5000);
	CHECK(!memcmp(out, bytes, 5000));
}

static void a_descriptor_takes_what_is_there(void)
{
	AUTO_RING struct ring ring;
	int ends[2];
	char out[8] = "";

	REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	ring_init(&ring, 4);
	CHECK(ring_drain_to(&ring, ends[1]) == 0);
	CHECK(ring_write(&ring, "abcd", 4) == 4);
	CHECK(ring_read(&ring, out, 3) == 3);
	CHECK(ring_write(&ring, "ef", 2) == 2);
	CHECK(ring_drain_to(&ring, ends[1]) == 3);
	CHECK(ring.len == 0);
	CHECK(read(ends[0], out, sizeof(out)) == 3);
	CHECK(memcmp(out, "def", 3) == 0);
	close(ends[1]);
	close(ends[0]);
}

int main(void)
{
	RUN(written_bytes_come_back_in_order);
	RUN(full_ring_takes_what_fits);
	RUN(every_offset_and_length_survives_wrapping);
	RUN(pieces_cover_data_and_space);
	RUN(trim_gives_memory_back_only_when_empty);
	RUN(memory_grows_with_what_is_in_it);
	RUN(a_descriptor_takes_what_is_there);
	return DONE();
}

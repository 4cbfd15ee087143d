/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end.c - one end of a connection, whatever it is made of
 */
#include "net/end.h"

#include <string.h>

/* A first read takes little memory, those after a full one fewer calls. */
#define FIRST_READ_BYTES (16u * 1024)
#define READ_BYTES (128u * 1024)

void end_fill(struct end *end)
{
	if (end->ops->fill)
		end->ops->fill(end);
}

int end_peek(const struct end *end, struct iovec iov[2])
{
	return end->ops->peek(end, iov);
}

size_t end_available(const struct end *end)
{
	struct iovec iov[2];
	int count = end_peek(end, iov);
	size_t len = 0;

	for (int i = 0; i < count; i++)
		len += iov[i].iov_len;
	return len;
}

const uint8_t *end_gather(const struct end *end, void *scratch, size_t size,
			  size_t *len)
{
	struct iovec iov[2];
	int count = end_peek(end, iov);
	uint8_t *to = scratch;

	*len = 0;
	if (count == 1) {
		*len = iov[0].iov_len < size ? iov[0].iov_len : size;
		return iov[0].iov_base;
	}
	for (int i = 0; i < count && *len < size; i++) {
		size_t part = size - *len;

		if (part > iov[i].iov_len)
			part = iov[i].iov_len;
		memcpy(to + *len, iov[i].iov_base, part);
		*len += part;
	}
	return scratch;
}

void end_take(struct end *end, size_t len)
{
	end->ops->take(end, len);
}

size_t end_space(const struct end *end)
{
	if (end->finished || end->error)
		return 0;
	return end->ops->space(end);
}

size_t end_write(struct end *end, const void *bytes, size_t len)
{
	if (end->finished || end->error || len == 0)
		return 0;
	return end->ops->write(end, bytes, len);
}

bool end_drained(const struct end *end)
{
	return end->ops->drained(end);
}

void end_finish(struct end *end)
{
	if (end->finished || end->error)
		return;
	end->finished = true;
	end->ops->finish(end);
}

void end_close(struct end *end, int code)
{
	if (end)
		end->ops->close(end, code);
}

static size_t move_buffered(struct end *from, struct end *to,
			    const struct iovec *iov, int count)
{
	size_t moved = 0;

	for (int i = 0; i < count; i++) {
		size_t n = end_write(to, iov[i].iov_base, iov[i].iov_len);

		moved += n;
		if (n < iov[i].iov_len)
			break;
	}
	if (moved)
		end_take(from, moved);
	return moved;
}

/* From the socket's buffer in the kernel to where it leaves from. */
static size_t move_directly(struct end *from, struct end *to, size_t want)
{
	struct iovec iov[2];
	ssize_t n;
	int count;

	if (!from->ops->readable(from) || to->finished || to->error)
		return 0;
	count = to->ops->room(to, want, iov);
	if (!count)
		return 0;
	n = from->ops->read(from, iov, count);
	to->ops->filled(to, n > 0 ? (size_t)n : 0);
	return n > 0 ? (size_t)n : 0;
}

static size_t move_some(struct end *from, struct end *to, size_t want)
{
	struct iovec iov[2];
	int count = end_peek(from, iov);

	if (!count && from->ops->read && to->ops->room)
		return move_directly(from, to, want);
	if (!count && from->ops->fill && end_space(to)) {
		end_fill(from);
		count = end_peek(from, iov);
	}
	return count ? move_buffered(from, to, iov, count) : 0;
}

size_t end_move(struct end *from, struct end *to, size_t budget)
{
	struct iovec iov[2];
	size_t moved = 0, part;

	do {
		part = move_some(from, to,
				 moved ? READ_BYTES : FIRST_READ_BYTES);
		moved += part;
	} while (part && moved < budget);
	if (from->eof && !from->error && !end_peek(from, iov))
		end_finish(to);
	return moved;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkt_filter.c - what a guest's git-upload-pack says to the host's git
 */
#include "cli/pkt_filter.h"

#define HEADER_BYTES 4u
#define LINE_MAX_BYTES 65520u
#define BAND_DATA 1
#define BAND_ERROR 3

/* With the NUL at which a message of git's that quotes the line would end. */
static const uint8_t pack_start[PKT_PACK_START_BYTES] = "\001PACK\0\0";

static int hex_value(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

static int take_digit(struct pkt_filter *filter, uint8_t byte)
{
	int value = hex_value(byte);

	if (value < 0)
		return -1;
	filter->text_bytes++;
	filter->length = filter->length << 4 | (unsigned)value;
	if (++filter->digits < HEADER_BYTES)
		return 0;
	/* 0, 1 and 2 are marks without a line; 3 means nothing */
	if (filter->length == 3 || filter->length > LINE_MAX_BYTES)
		return -1;
	filter->left = filter->length > HEADER_BYTES
			       ? filter->length - HEADER_BYTES
			       : 0;
	if (filter->length < HEADER_BYTES)
		filter->pack = false;
	filter->at = 0;
	filter->data = false;
	filter->digits = filter->length = 0;
	return 0;
}

/* NUL parts a name from what the server can do; CR is for progress. */
static bool is_control(uint8_t before, uint8_t byte)
{
	if (byte < 0x20)
		return byte != '\n' && byte != '\r' && byte != '\t' && byte;
	if (byte == 0x7f)
		return true;
	/* C1: alone, or as UTF-8 */
	return byte >= 0x80 && byte < 0xa0 && (before < 0x80 || before == 0xc2);
}

void pkt_filter_text(uint8_t *before, uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (is_control(*before, bytes[i]))
			bytes[i] = '?';
		*before = bytes[i];
	}
}

/*
 * Whether the line is objects is known by its first bytes, or by those of an
 * earlier one; until then they are what a pack starts with, and stay as they
 * are. One that turns out to be text has none but the band's number and NUL.
 */
static void take_byte(struct pkt_filter *filter, uint8_t *byte)
{
	unsigned at = filter->at++;

	if (at == 0) {
		filter->data = filter->pack && *byte == BAND_DATA;
		filter->start = true;
		filter->before = 0;
	}
	if (filter->data)
		return;
	filter->start &= at < PKT_PACK_START_BYTES && *byte == pack_start[at];
	if (filter->start && at + 1 == PKT_PACK_START_BYTES)
		filter->data = filter->pack = true;
	/* the number of a band is no text */
	if (at || *byte < BAND_DATA || *byte > BAND_ERROR)
		pkt_filter_text(&filter->before, byte, 1);
}

/* As much of the line as is here; how many bytes that was. */
static size_t take_line(struct pkt_filter *filter, uint8_t *bytes, size_t len)
{
	size_t part = len < filter->left ? len : filter->left;
	size_t i = 0;

	while (i < part && !(filter->data && filter->at))
		take_byte(filter, &bytes[i++]);
	filter->text_bytes += i;
	filter->data_bytes += part - i;
	filter->left -= (unsigned)part;
	return part;
}

int pkt_filter(struct pkt_filter *filter, uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		if (filter->left)
			at += take_line(filter, bytes + at, len - at);
		else if (take_digit(filter, bytes[at++]) < 0)
			return -1;
	}
	return 0;
}

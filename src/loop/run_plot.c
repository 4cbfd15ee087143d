/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_plot.c - time, tokens and cost of each iteration as bars, in SVG or text
 */
#include "loop/run_plot.h"

#include <stdint.h>

#include "base/buffer.h"
#include "base/own.h"
#include "base/text.h"

#define WIDTH 720.0
#define ROW_HEIGHT 90.0
#define BAR_HEIGHT 60.0
#define LABEL_WIDTH 120.0
#define BAR_WIDTH_MAX 60.0
#define NUMBERS_MAX 40 /* more do not fit side by side */
#define TEXT_WIDTH 20  /* of a bar of characters */

static double number_of(const json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return value > 0 && value < 1e15 ? value : 0;
}

static double seconds(const json_t *record)
{
	return number_of(record, "seconds");
}

static double tokens(const json_t *record)
{
	return number_of(record, "tokens_in") + number_of(record, "tokens_out");
}

static double cost(const json_t *record)
{
	return number_of(record, "cost_usd");
}

static const struct {
	const char *label, *unit, *colour;
	double (*value)(const json_t *record);
	int digits;
} rows[] = {
	{ "time", "s", "#4878a8", seconds, 1 },
	{ "tokens", "", "#6a9f58", tokens, 0 },
	{ "cost", "USD", "#c26a45", cost, 4 },
};

static double most_of(const json_t *records, size_t row)
{
	const json_t *record;
	double most = 0;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)records, i, record)
	{
		double value = rows[row].value(record);

		if (value > most)
			most = value;
	}
	return most;
}

static void bars(const json_t *records, size_t row, struct buffer *out)
{
	size_t count = json_array_size(records), i;
	double step = (WIDTH - LABEL_WIDTH) / (double)(count ? count : 1);
	double width = step * 0.8 < BAR_WIDTH_MAX ? step * 0.8 : BAR_WIDTH_MAX;
	double top = (double)row * ROW_HEIGHT + 10;
	double most = most_of(records, row);
	const json_t *record;

	buffer_printf(out,
		      "<text x=\"0\" y=\"%.0f\" font-size=\"13\">%s</text>\n"
		      "<text x=\"0\" y=\"%.0f\" font-size=\"11\">max %.*f "
		      "%s</text>\n",
		      top + 24, rows[row].label, top + 42, rows[row].digits,
		      most, rows[row].unit);
	json_array_foreach((json_t *)(uintptr_t)records, i, record)
	{
		double value = rows[row].value(record);
		double height = most > 0 ? value / most * BAR_HEIGHT : 0;

		buffer_printf(out,
			      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			      "height=\"%.1f\" fill=\"%s\"><title>%zu: %.*f "
			      "%s</title></rect>\n",
			      LABEL_WIDTH + (double)i * step,
			      top + BAR_HEIGHT - height, width, height,
			      rows[row].colour, i + 1, rows[row].digits, value,
			      rows[row].unit);
	}
	buffer_printf(out,
		      "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" "
		      "stroke=\"#888\"/>\n",
		      LABEL_WIDTH, WIDTH, top + BAR_HEIGHT, top + BAR_HEIGHT);
}

/* Which iteration a bar is of: one that waited has several. */
static void axis(const json_t *records, struct buffer *out)
{
	size_t count = json_array_size(records), i;
	double step = (WIDTH - LABEL_WIDTH) / (double)count;
	double bottom = ROW_HEIGHT * (double)ARRAY_SIZE(rows) - 4;
	const json_t *record;

	if (count > NUMBERS_MAX)
		return;
	buffer_printf(out,
		      "<text x=\"0\" y=\"%.0f\" font-size=\"11\">iteration"
		      "</text>\n",
		      bottom);
	json_array_foreach((json_t *)(uintptr_t)records, i, record)
		buffer_printf(out,
			      "<text x=\"%.1f\" y=\"%.0f\" "
			      "font-size=\"11\">%.0f</text>\n",
			      LABEL_WIDTH + (double)i * step, bottom,
			      number_of(record, "iteration"));
}

void run_plot(const json_t *records, struct buffer *out)
{
	if (!json_array_size(records))
		return;
	buffer_printf(out,
		      "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
		      "aria-label=\"time, tokens and cost of each turn\">\n",
		      WIDTH, ROW_HEIGHT * (double)ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		bars(records, i, out);
	axis(records, out);
	buffer_printf(out, "</svg>\n");
}

/* What is not nothing is seen. */
static void text_bar(double part, struct buffer *out)
{
	int len = (int)(part * TEXT_WIDTH);

	if (part * TEXT_WIDTH > len)
		len++;
	buffer_printf(out, "  %-*.*s", TEXT_WIDTH, len, "####################");
}
_Static_assert(sizeof("####################") == TEXT_WIDTH + 1,
	       "the longest bar");

void run_plot_text(const json_t *records, struct buffer *out)
{
	double most[ARRAY_SIZE(rows)];
	const json_t *record;
	char label[64];
	size_t i;

	if (!json_array_size(records))
		return;
	buffer_printf(out, "\n```\n   #");
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		most[row] = most_of(records, row);
		(void)text_format(label, sizeof(label), "%s, max %.*f %s",
				  rows[row].label, rows[row].digits, most[row],
				  rows[row].unit);
		buffer_printf(out, "  %-*s", TEXT_WIDTH, label);
	}
	json_array_foreach((json_t *)(uintptr_t)records, i, record)
	{
		buffer_printf(out, "\n%4.0f", number_of(record, "iteration"));
		for (size_t row = 0; row < ARRAY_SIZE(rows); row++)
			text_bar(most[row] > 0
					 ? rows[row].value(record) / most[row]
					 : 0,
				 out);
	}
	buffer_printf(out, "\n```\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_screen.c - a question on a terminal that belongs to a guest's program
 */
#include "cli/ask_screen.h"

#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

#define LINE_SIZE 600
#define CTRL_C 0x03

/*
 * Ends what the guest has begun (a sequence, a string), then: soft reset, the
 * colours of text and background and the palette as they were (a guest can make
 * them equal), letters in both character sets, no margins, no insert or reverse
 * mode, no reports of mouse, focus or pasting, an empty other screen.
 */
static const char known_state[] =
	"\030\033\\\033[!p"
	"\033]104\033\\\033]110\033\\\033]111\033\\"
	"\033(B\033)B\017"
	"\033[?9l\033[?1000l\033[?1002l\033[?1003l\033[?1004l\033[?1005l"
	"\033[?1006l\033[?1015l\033[?2004l\033[?1l\033>"
	"\033[?1049h\033[r\033[?69l\033[?6l\033[4l\033[?5l\033[?7h\033[?25l"
	"\033[0m\033[2J\033[H";

static const char other_state[] = "\033[0m\033[2J\033[H\033[?25h\033[?1049l";

struct page {
	struct buffer *out;
	unsigned row, rows, cols;
};

/* One row, cut to the width; text is made printable. */
static void line(struct page *page, const char *style, const char *text)
{
	char shown[LINE_SIZE];
	size_t len;

	if (page->row >= page->rows)
		return;
	text_printable(text, strlen(text), shown, sizeof(shown));
	len = strlen(shown);
	/* all of our words are ASCII, and so are names in their one form */
	if (len > page->cols)
		len = page->cols;
	buffer_printf(page->out, "\033[%u;1H%s%.*s\033[0m\033[K", ++page->row,
		      style, (int)len, shown);
}

static void head(struct page *page, const struct ask *ask,
		 const struct ask_view *view)
{
	char text[LINE_SIZE];

	text_format(text, sizeof(text), " bawn asks. Your mark: %s ",
		    view->mark);
	line(page, "\033[7m", text);
	page->row++;
	text_format(text, sizeof(text), "  Sandbox %s wants to connect to",
		    view->sandbox);
	line(page, "", text);
	page->row++;
	text_format(text, sizeof(text), "    %s%s%s%s", ask->target,
		    *ask->protocol ? "  (" : "", ask->protocol,
		    *ask->protocol ? ")" : "");
	line(page, "\033[1m", text);
	page->row++;
}

static void choices(struct page *page, const struct ask *ask)
{
	char text[LINE_SIZE];

	line(page, "", "  o  allow it this once");
	text_format(text, sizeof(text),
		    "  a  allow it always (adds the rule: allow %s)",
		    ask->target);
	line(page, "", text);
	text_format(text, sizeof(text),
		    "  n  never allow it (adds the rule: deny %s)",
		    ask->target);
	line(page, "", text);
	line(page, "", "  d  deny it this once");
	page->row++;
}

static void foot(struct page *page, const struct ask *ask,
		 const struct ask_view *view)
{
	char text[LINE_SIZE] = "";

	line(page, "\033[1m",
	     view->ready ? "  Press o, a, n or d." : "  A moment ...");
	text_format(text, sizeof(text),
		    "  Denied in %lld s if you do not choose.",
		    (long long)(ask->ms_left + 999) / 1000);
	line(page, "", text);
	text[0] = '\0';
	if (view->more)
		text_format(text, sizeof(text), "  %zu more after this one.",
			    view->more);
	line(page, "", text);
}

void ask_screen_draw(const struct ask *ask, const struct ask_view *view,
		     struct buffer *out)
{
	struct page page = { out, 0, view->rows, view->cols };

	if (!view->again)
		buffer_append(out, known_state, sizeof(known_state) - 1);
	head(&page, ask, view);
	choices(&page, ask);
	foot(&page, ask, view);
}

void ask_screen_leave(struct buffer *out)
{
	buffer_append(out, other_state, sizeof(other_state) - 1);
}

void ask_keys_begin(struct ask_keys *keys, int64_t now_ms)
{
	keys->ready_ms = now_ms + ASK_QUIET_MS;
}

bool ask_keys_ready(const struct ask_keys *keys, int64_t now_ms)
{
	return now_ms >= keys->ready_ms;
}

static enum ask_choice choice_of(uint8_t key)
{
	switch (key) {
	case 'o':
	case 'O':
		return ASK_ONCE;
	case 'a':
	case 'A':
		return ASK_ALWAYS;
	case 'n':
	case 'N':
		return ASK_NEVER;
	case 'd':
	case 'D':
	case CTRL_C:
		return ASK_DENY;
	default:
		return ASK_NONE;
	}
}

enum ask_choice ask_keys_take(struct ask_keys *keys, const uint8_t *typed,
			      size_t len, int64_t now_ms)
{
	enum ask_choice choice = len == 1 ? choice_of(typed[0]) : ASK_NONE;

	if (!len)
		return ASK_NONE;
	/* who types a word, or pastes, does not mean the question */
	if (!ask_keys_ready(keys, now_ms) || choice == ASK_NONE) {
		ask_keys_begin(keys, now_ms);
		return ASK_NONE;
	}
	return choice;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_text.c - changes as git prints them
 */
#include "changes/diff_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "changes/diff_note.h"
#include "changes/line_diff.h"
#include "tar/tar_path.h"
#include "tree/tree_open.h"

#define CONTEXT 3
/* Larger files are shown as binary ones. */
#define TEXT_MAX (8u << 20)

struct side {
	char *bytes; /* owned; NULL when there is no such file */
	size_t len;
	uint64_t size;
	bool too_large;
	mode_t mode;
};

struct printer {
	const struct diff_source *source;
	const struct change *change;
	FILE *out;
	char *old_name, *new_name; /* owned; quoted, with "a/" and "b/" */
	struct side old_side, new_side;
};

char *diff_text_quote(const char *prefix, const char *path)
{
	AUTO_FREE char *all = xasprintf("%s%s", prefix, path);
	char *out = xmalloc(4 * strlen(all) + 3), *to = out;
	bool quoted = false;

	*to++ = '"';
	for (const unsigned char *c = (const unsigned char *)all; *c; c++) {
		const char *at = strchr("\a\b\t\n\v\f\r\"\\", *c);

		if (at) {
			*to++ = '\\';
			*to++ = "abtnvfr\"\\"[at - "\a\b\t\n\v\f\r\"\\"];
			quoted = true;
		} else if (*c < 0x20 || *c >= 0x7f) {
			to += snprintf(to, 5, "\\%03o", *c);
			quoted = true;
		} else {
			*to++ = (char)*c;
		}
	}
	*to = '\0';
	if (!quoted) {
		memmove(out, out + 1, (size_t)(to - out));
		return out;
	}
	*to++ = '"';
	*to = '\0';
	return out;
}

void diff_text_line(FILE *out, const char *line, size_t len, bool terminal)
{
	char safe[512];

	if (!terminal) {
		fwrite(line, 1, len, out);
		return;
	}
	/* tabs stay; pieces end between characters of UTF-8 */
	while (len) {
		size_t piece = 0;

		while (piece < len && piece < 100 && line[piece] != '\t')
			piece++;
		while (piece < len && piece < 104 &&
		       (line[piece] & 0xc0) == 0x80)
			piece++;
		text_printable(line, piece, safe, sizeof(safe));
		fputs(safe, out);
		line += piece;
		len -= piece;
		if (len && *line == '\t') {
			fputc('\t', out);
			line++;
			len--;
		}
	}
}

static int read_at(int fd, off_t from, struct side *side, struct error *err)
{
	size_t have = 0;

	side->too_large = side->size > TEXT_MAX;
	side->len = side->too_large ? 1 : (size_t)side->size;
	side->bytes = xcalloc(1, side->len + 1);
	while (!side->too_large && have < side->len) {
		ssize_t got = pread(fd, side->bytes + have, side->len - have,
				    from + (off_t)have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "read");
		if (!got)
			break;
		have += (size_t)got;
	}
	if (!side->too_large)
		side->len = have;
	return 0;
}

static int read_host(struct printer *printer, struct error *err)
{
	const char *path = printer->change->path;
	struct side *side = &printer->old_side;
	const char *name;
	AUTO_CLOSE int at =
		tree_open_parent(printer->source->root, path, 0, &name, err);
	AUTO_CLOSE int fd = -1;

	side->mode = printer->change->host.st_mode;
	side->size = (uint64_t)printer->change->host.st_size;
	if (at < 0)
		return -1;
	if (S_ISLNK(side->mode)) {
		ssize_t len;

		side->bytes = xcalloc(1, TAR_PATH_MAX);
		len = readlinkat(at, name, side->bytes, TAR_PATH_MAX - 1);
		side->len = side->size = len < 0 ? 0 : (size_t)len;
		return len < 0 ? tree_error(err, errno, path) : 0;
	}
	/* a device or a socket of the host has nothing to show */
	if (!S_ISREG(side->mode)) {
		side->bytes = xcalloc(1, 1);
		side->size = 0;
		return 0;
	}
	fd = tree_open(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return tree_error(err, errno, path);
	return read_at(fd, 0, side, err);
}

static int read_entry(struct printer *printer, struct error *err)
{
	const struct set_entry *entry = printer->change->entry;
	struct side *side = &printer->new_side;

	side->mode = entry->mode;
	side->size = entry->size;
	if (!S_ISLNK(entry->mode))
		return read_at(printer->source->set, (off_t)entry->offset, side,
			       err);
	side->bytes = xstrdup(entry->target);
	side->len = side->size = strlen(entry->target);
	return 0;
}

/* The modes that git knows. */
static unsigned git_mode(mode_t mode)
{
	if (S_ISLNK(mode))
		return 0120000;
	return mode & 0100 ? 0100755 : 0100644;
}

static void print_modes(const struct printer *printer)
{
	mode_t old_mode = printer->old_side.mode;
	mode_t new_mode = printer->new_side.mode;

	switch (printer->change->kind) {
	case CHANGE_NEW:
		fprintf(printer->out, "new file mode %06o\n",
			git_mode(new_mode));
		break;
	case CHANGE_DELETED:
		fprintf(printer->out, "deleted file mode %06o\n",
			git_mode(old_mode));
		break;
	default:
		if (git_mode(old_mode) != git_mode(new_mode))
			fprintf(printer->out, "old mode %06o\nnew mode %06o\n",
				git_mode(old_mode), git_mode(new_mode));
	}
}

/* "@@ -3,2 +3,4 @@": a count of one is left out, and nothing begins before. */
static void print_range(FILE *out, char sign, size_t at, size_t count)
{
	fprintf(out, " %c%zu", sign, count ? at + 1 : at);
	if (count != 1)
		fprintf(out, ",%zu", count);
}

static void print_lines(const struct printer *printer, char sign,
			const struct line_text *text, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		const char *line = text->bytes + text->starts[i];
		size_t len = text->starts[i + 1] - text->starts[i];
		bool ends = line[len - 1] == '\n';

		fputc(sign, printer->out);
		diff_text_line(printer->out, line, len - ends,
			       printer->source->terminal);
		fputc('\n', printer->out);
		if (!ends)
			fputs("\\ No newline at end of file\n", printer->out);
	}
}

/* Changes first to last - 1 are close enough for one hunk. */
static void print_hunk(const struct printer *printer,
		       const struct line_diff *diff, size_t first, size_t last)
{
	const struct line_change *begin = &diff->changes[first];
	const struct line_change *end = &diff->changes[last - 1];
	size_t before = begin->old_at < CONTEXT ? begin->old_at : CONTEXT;
	size_t rest = diff->old_text.count - end->old_at - end->old_count;
	size_t after = rest < CONTEXT ? rest : CONTEXT;
	size_t old_at = begin->old_at - before, new_at = begin->new_at - before;
	size_t at = old_at;

	fputs("@@", printer->out);
	print_range(printer->out, '-', old_at,
		    end->old_at + end->old_count + after - old_at);
	print_range(printer->out, '+', new_at,
		    end->new_at + end->new_count + after - new_at);
	fputs(" @@\n", printer->out);
	for (size_t i = first; i < last; i++) {
		const struct line_change *c = &diff->changes[i];

		print_lines(printer, ' ', &diff->old_text, at, c->old_at);
		at = c->old_at + c->old_count;
		print_lines(printer, '-', &diff->old_text, c->old_at, at);
		print_lines(printer, '+', &diff->new_text, c->new_at,
			    c->new_at + c->new_count);
	}
	print_lines(printer, ' ', &diff->old_text, at, at + after);
}

static void print_name(const struct printer *printer, const char *mark,
		       const char *name)
{
	/* git puts a tab after a name that has a blank */
	fprintf(printer->out, "%s %s%s\n", mark, name,
		strchr(name, ' ') ? "\t" : "");
}

static void print_hunks(const struct printer *printer,
			const struct line_diff *diff)
{
	size_t first = 0;

	if (!diff->count)
		return;
	print_name(printer, "---", printer->old_name);
	print_name(printer, "+++", printer->new_name);
	for (size_t i = 1; i <= diff->count; i++) {
		const struct line_change *last = &diff->changes[i - 1];

		if (i < diff->count &&
		    diff->changes[i].old_at - last->old_at - last->old_count <=
			    2 * CONTEXT)
			continue;
		print_hunk(printer, diff, first, i);
		first = i;
	}
}

static void print_folder(const struct printer *printer)
{
	const struct change *change = printer->change;
	AUTO_FREE char *name =
		diff_text_quote(printer->source->prefix, change->path);

	if (change->kind == CHANGE_MODE || change->kind == CHANGE_ATTRIBUTES)
		return;
	fprintf(printer->out, "# %s folder %s\n",
		change->kind == CHANGE_NEW ? "new" : "deleted", name);
}

static void print_file(struct printer *printer, struct diff_stat *stat)
{
	const struct side *a = &printer->old_side, *b = &printer->new_side;
	AUTO_LINE_DIFF struct line_diff diff = { .changes = NULL };

	stat->binary = a->too_large || b->too_large ||
		       line_diff_is_binary(a->bytes, a->len) ||
		       line_diff_is_binary(b->bytes, b->len);
	if (!stat->binary) {
		line_diff_make(&diff, a->bytes, a->len, b->bytes, b->len);
		line_diff_stat(&diff, &stat->removed, &stat->added);
	}
	if (!printer->out)
		return;
	if (stat->binary && printer->change->kind != CHANGE_MODE &&
	    printer->change->kind != CHANGE_ATTRIBUTES)
		fprintf(printer->out, "Binary files %s and %s differ\n",
			printer->old_name, printer->new_name);
	else
		print_hunks(printer, &diff);
}

/* git refuses a part that changes nothing. */
static bool is_nothing_to_git(const struct printer *printer)
{
	enum change_kind kind = printer->change->kind;

	return (kind == CHANGE_MODE || kind == CHANGE_ATTRIBUTES) &&
	       git_mode(printer->old_side.mode) ==
		       git_mode(printer->new_side.mode);
}

static void print_head(struct printer *printer)
{
	const char *prefix = printer->source->prefix;
	AUTO_FREE char *a = xasprintf("a/%s", prefix);
	AUTO_FREE char *b = xasprintf("b/%s", prefix);
	AUTO_FREE char *old_name = diff_text_quote(a, printer->change->path);
	AUTO_FREE char *new_name = diff_text_quote(b, printer->change->path);

	if (printer->out && !is_nothing_to_git(printer)) {
		fprintf(printer->out, "diff --git %s %s\n", old_name, new_name);
		print_modes(printer);
	}
	printer->old_name = printer->change->kind == CHANGE_NEW
				    ? xstrdup("/dev/null")
				    : TAKE_PTR(old_name);
	printer->new_name = printer->change->kind == CHANGE_DELETED
				    ? xstrdup("/dev/null")
				    : TAKE_PTR(new_name);
}

static int print(struct printer *printer, struct diff_stat *stat,
		 struct error *err)
{
	const struct change *change = printer->change;
	mode_t mode =
		change->entry ? change->entry->mode : change->host.st_mode;

	if (printer->out)
		diff_note_print(printer->source, change, printer->out);
	if (S_ISDIR(mode)) {
		if (printer->out)
			print_folder(printer);
		return 0;
	}
	printer->old_side.bytes = printer->new_side.bytes = NULL;
	if (change->kind != CHANGE_NEW && read_host(printer, err) < 0)
		return -1;
	if (change->entry && read_entry(printer, err) < 0)
		return -1;
	if (!printer->old_side.bytes)
		printer->old_side.bytes = xcalloc(1, 1);
	if (!printer->new_side.bytes)
		printer->new_side.bytes = xcalloc(1, 1);
	stat->old_size = printer->old_side.size;
	stat->new_size = printer->new_side.size;
	print_head(printer);
	print_file(printer, stat);
	return 0;
}

int diff_text_print(const struct diff_source *source,
		    const struct change *change, FILE *out,
		    struct diff_stat *stat, struct error *err)
{
	struct printer printer = { .source = source,
				   .change = change,
				   .out = out };
	struct diff_stat unused;
	int result;

	stat = stat ? stat : &unused;
	*stat = (struct diff_stat){ .binary = false };
	result = print(&printer, stat, err);
	free(printer.old_side.bytes);
	free(printer.new_side.bytes);
	free(printer.old_name);
	free(printer.new_name);
	return result;
}

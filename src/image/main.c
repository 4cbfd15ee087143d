/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-image: foreign files become images, kernels and modules
 *
 * Short-lived, one job for each run. Descriptors: 0 input, 1 result (one JSON
 * line), 2 errors, 4 output (an empty regular file, read and write), 5 progress
 * lines "BYTES ENTRIES" where it is open ("LAYER BYTES" of the job layers,
 * whose input is described in layers.h). The jobs load and save ask their
 * starter for files instead (talk.h). Confined before
 * the first byte of input is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/text.h"
#include "image/ext4_add.h"
#include "image/ext4_writer.h"
#include "image/hash.h"
#include "image/layer.h"
#include "image/layers.h"
#include "image/load.h"
#include "image/profile.h"
#include "image/save.h"
#include "image/tar_stream.h"
#include "image/unpack.h"
#include "oci/archive_names.h"
#include "oci/manifest.h"
#include "tar/tar_path.h"

enum {
	OUTPUT_FD = 4,
	PROGRESS_FD = 5,
	EXIT_USAGE = 2,
};

struct options {
	uint64_t size_bytes;
	const char *label;
	struct layers layers;
	size_t number; /* of an image in an archive */
	enum load_from from;
	/* of the job add */
	struct ext4_add_rule takes[EXT4_ADD_RULES_MAX];
	struct ext4_add_rule links[EXT4_ADD_RULES_MAX];
	size_t take_count, link_count;
};

static int check_output(struct error *err)
{
	struct stat st;
	int flags = fcntl(OUTPUT_FD, F_GETFL);

	if (flags < 0 || fstat(OUTPUT_FD, &st) < 0)
		return error_set(err, errno, "descriptor %d (the output)",
				 OUTPUT_FD);
	if (!S_ISREG(st.st_mode) || st.st_size != 0 ||
	    (flags & O_ACCMODE) != O_RDWR)
		return error_set(err, 0,
				 "descriptor %d must be an empty file, "
				 "open for reading and writing",
				 OUTPUT_FD);
	return 0;
}

static int say(const char *text, struct error *err)
{
	return fileio_write_all(STDOUT_FILENO, text, strlen(text), err);
}

static void show_progress(void *ctx, uint64_t bytes, uint64_t entries)
{
	char line[64];

	/* Nobody has to listen: a closed descriptor is not a failure. */
	text_format(line, sizeof(line), "%" PRIu64 " %" PRIu64 "\n", bytes,
		    entries);
	if (write(PROGRESS_FD, line, strlen(line)) < 0)
		return;
}

static void show_layer(size_t layer, uint64_t bytes)
{
	show_progress(NULL, layer, bytes);
}

static int make_image(struct tar_stream *stream, const struct options *options,
		      struct ext4_stats *stats, struct error *err)
{
	struct ext4_writer *writer = ext4_writer_new(
		OUTPUT_FD, options->size_bytes, options->label, err);
	int result;

	if (!writer)
		return -1;
	result = layer_unpack(stream, LAYER_WHOLE, writer, show_progress, NULL,
			      err);
	if (result == 0)
		result = ext4_writer_finish(writer, stats, err);
	ext4_writer_free(writer);
	return result;
}

static int report(struct tar_stream *stream, const struct ext4_stats *stats,
		  uint64_t size_bytes, struct error *err)
{
	char hex[TAR_STREAM_DIGEST], line[320];

	if (tar_stream_digest(stream, hex, err) < 0)
		return -1;
	text_format(line, sizeof(line),
		    "{\"digest\":\"sha256:%s\",\"files\":%" PRIu64
		    ",\"bytes\":%" PRIu64 ",\"blocks\":%" PRIu64
		    ",\"size\":%" PRIu64 "}\n",
		    hex, stats->files, stats->bytes, stats->blocks, size_bytes);
	return say(line, err);
}

/* Room for headers and for what a sparse file does not take. */
static uint64_t tar_limit(const struct options *options)
{
	return 2 * options->size_bytes + (1ull << 30);
}

static int job_ext4(struct options *options, struct error *err)
{
	struct tar_stream *stream =
		tar_stream_new(STDIN_FILENO, NULL, 0, tar_limit(options));
	struct ext4_stats stats = { 0 };
	int result = -1;

	if (layer_warm_up(err) == 0 && profile_enter(err) == 0 &&
	    make_image(stream, options, &stats, err) == 0)
		result = report(stream, &stats, options->size_bytes, err);
	tar_stream_free(stream);
	return result;
}

static int fill_from_layers(struct options *options, struct ext4_stats *stats,
			    struct error *err)
{
	struct ext4_writer *writer = ext4_writer_new(
		OUTPUT_FD, options->size_bytes, options->label, err);
	int result;

	if (!writer)
		return -1;
	result = layers_unpack(&options->layers, tar_limit(options), writer,
			       show_layer, err);
	if (result == 0)
		result = ext4_writer_finish(writer, stats, err);
	ext4_writer_free(writer);
	return result;
}

/* Says which layer is to blame, so that a damaged copy is fetched again. */
static int job_layers(struct options *options, struct error *err)
{
	struct ext4_stats stats = { 0 };
	char line[320];

	/* OpenSSL reads its configuration here. */
	hash_free(hash_new("sha256"));
	if (layer_warm_up(err) < 0 || profile_enter(err) < 0)
		return -1;
	options->layers.bad = options->layers.count;
	if (fill_from_layers(options, &stats, err) < 0) {
		text_format(line, sizeof(line), "{\"bad_layer\":%zu}\n",
			    options->layers.bad);
		if (options->layers.bad < options->layers.count)
			(void)say(line, NULL);
		return -1;
	}
	text_format(line, sizeof(line),
		    "{\"files\":%" PRIu64 ",\"bytes\":%" PRIu64
		    ",\"blocks\":%" PRIu64 ",\"size\":%" PRIu64 "}\n",
		    stats.files, stats.bytes, stats.blocks,
		    options->size_bytes);
	return say(line, err);
}

static int job_vmlinux(struct options *options, struct error *err)
{
	if (profile_enter(err) < 0)
		return -1;
	return unpack_kernel(STDIN_FILENO, OUTPUT_FD, err);
}

static int job_unpack(struct options *options, struct error *err)
{
	if (profile_enter(err) < 0)
		return -1;
	return unpack_file(STDIN_FILENO, OUTPUT_FD, err);
}

static int job_inflate(struct options *options, struct error *err)
{
	if (profile_enter(err) < 0)
		return -1;
	return unpack_stream(STDIN_FILENO, OUTPUT_FD, tar_limit(options), err);
}

static int job_load(struct options *options, struct error *err)
{
	struct image_platform platform;

	manifest_host_platform(&platform);
	hash_free(hash_new("sha256"));
	json_object_seed(0); /* from /dev/urandom */
	if (profile_enter_talking(err) < 0)
		return -1;
	return load_image(options->from, options->number, &platform, err);
}

static int job_save(struct options *options, struct error *err)
{
	struct save *save = save_read_order(err);
	int result = -1;

	hash_free(hash_new("sha256"));
	if (save && profile_enter_talking(err) == 0)
		result = save_write(save, err);
	save_free(save);
	return result;
}

static int add_all(struct ext4_add *add, struct tar_stream *stream,
		   const struct options *options, struct error *err)
{
	if (ext4_add_archive(add, stream, options->takes, options->take_count,
			     err) < 0)
		return -1;
	for (size_t i = 0; i < options->link_count; i++)
		if (ext4_add_link(add, &options->links[i], err) < 0)
			return -1;
	return ext4_add_finish(add, err);
}

/* The output is no empty file here: it is what something is added to. */
static int job_add(struct options *options, struct error *err)
{
	struct tar_stream *stream =
		tar_stream_new(STDIN_FILENO, NULL, 0, tar_limit(options));
	struct ext4_add *add = ext4_add_open(OUTPUT_FD, err);
	int result = -1;

	if (add && profile_enter(err) == 0)
		result = add_all(add, stream, options, err);
	ext4_add_free(add);
	tar_stream_free(stream);
	return result;
}

static const struct {
	const char *name;
	int (*run)(struct options *options, struct error *err);
	bool writes; /* to OUTPUT_FD, an empty file */
} jobs[] = {
	{ "ext4", job_ext4, true },       /* tar to ext4 image */
	{ "layers", job_layers, true },   /* layers of an image to ext4 image */
	{ "add", job_add, false },        /* files of a tar to an ext4 image */
	{ "vmlinux", job_vmlinux, true }, /* bzImage to ELF */
	{ "unpack", job_unpack, true },   /* one compressed file */
	{ "inflate", job_inflate, true }, /* one of any size */
	{ "load", job_load, false },      /* an image from an archive */
	{ "save", job_save, false },      /* an image into an archive */
};

/* "FROM=TO", both safe paths. */
static int parse_rule(const char *value, struct ext4_add_rule *rules,
		      size_t *count)
{
	static char paths[2 * 2 * EXT4_ADD_RULES_MAX][TAR_PATH_MAX];
	static size_t used;
	const char *equals = strchr(value, '=');
	char *from = paths[used], *to = paths[used + 1];

	if (*count == EXT4_ADD_RULES_MAX || !equals ||
	    tar_path_normalise(value, (size_t)(equals - value), from, NULL) <
		    0 ||
	    tar_path_normalise(equals + 1, strlen(equals + 1), to, NULL) < 0 ||
	    !*from || !*to)
		return -1;
	used += 2;
	rules[(*count)++] = (struct ext4_add_rule){ from, to };
	return 0;
}

static int parse_from(const char *value, enum load_from *from)
{
	static const char *const names[] = { [LOAD_TAR] = "tar",
					     [LOAD_FOLDER] = "folder",
					     [LOAD_DISK] = "disk" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		*from = (enum load_from)i;
		return 0;
	}
	return -1;
}

static int parse_option(const char *name, const char *value,
			struct options *options)
{
	if (!value)
		return -1;
	if (strcmp(name, "--label") == 0) {
		options->label = value;
		return 0;
	}
	if (strcmp(name, "--layer") == 0) {
		if (options->layers.count == IMAGE_LAYERS_MAX ||
		    !image_diff_id_is_valid(value))
			return -1;
		options->layers.diff_ids[options->layers.count++] = value;
		return 0;
	}
	if (strcmp(name, "--take") == 0)
		return parse_rule(value, options->takes, &options->take_count);
	if (strcmp(name, "--link") == 0)
		return parse_rule(value, options->links, &options->link_count);
	if (strcmp(name, "--image") == 0) {
		uint64_t number;

		if (text_to_u64(value, 0, ARCHIVE_IMAGES_MAX, &number) < 0)
			return -1;
		options->number = (size_t)number;
		return 0;
	}
	if (strcmp(name, "--from") == 0)
		return parse_from(value, &options->from);
	if (strcmp(name, "--size") != 0)
		return -1;
	return strcmp(value, "auto") == 0
		       ? 0
		       : text_to_size(value, &options->size_bytes);
}

static int parse_options(char **args, struct options *options)
{
	for (; *args; args += 2)
		if (parse_option(args[0], args[1], options) < 0)
			return -1;
	return 0;
}

static int usage(void)
{
	fputs("usage: bawn-image ext4 [--size BYTES|auto] [--label LABEL]\n"
	      "       bawn-image layers [--size BYTES|auto] [--label LABEL] "
	      "--layer DIFF_ID...\n"
	      "       bawn-image add --take FROM=TO... [--link "
	      "TARGET=PATH...]\n"
	      "       bawn-image vmlinux\n"
	      "       bawn-image unpack\n"
	      "       bawn-image inflate\n"
	      "       bawn-image load [--from tar|folder|disk] [--image "
	      "NUMBER]\n"
	      "       bawn-image save <ORDER >ARCHIVE\n",
	      stderr);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct options options = { .size_bytes = EXT4_WRITER_AUTO_BYTES,
				   .label = "bawn" };
	struct error err = { 0 };

	log_identity("bawn-image", NULL);
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2 || parse_options(argv + 2, &options) < 0)
		return usage();
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		if (strcmp(argv[1], jobs[i].name) != 0)
			continue;
		if ((!jobs[i].writes || check_output(&err) == 0) &&
		    jobs[i].run(&options, &err) == 0)
			return 0;
		log_error("%s", err.text);
		return 1;
	}
	return usage();
}

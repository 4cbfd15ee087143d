/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template.c - root file systems as read-only ext4 images: finding, making
 */
#include "provision/template.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "oci/reference.h"
#include "provision/template_build.h"
#include "provision/template_check.h"
#include "provision/template_digest.h"
#include "provision/template_ini.h"
#include "provision/template_manifest.h"
#include "provision/template_names.h"
#include "provision/template_store.h"

#define NAMES_MAX 4096

static const enum paths_kind kinds[] = { PATHS_DATA, PATHS_SYSTEM };

const struct template_builder template_builders[] = {
	{ "mmdebstrap", template_build_debian },
	{ "busybox", template_build_busybox },
	{ "npm", template_build_npm },
	{ "vendor", template_build_vendor },
	{ NULL, NULL },
};

void template_release(struct template *template)
{
	free(template->name);
	free(template->id);
	free(template->disk);
	free(template->source);
	free(template->reference);
	if (template->image)
		image_release(template->image);
	free(template->image);
	*template = (struct template){ 0 };
}

/* ---- finding ---- */

static int no_such(const char *name, struct error *err)
{
	char shown[120];

	text_printable(name, strlen(name), shown, sizeof(shown));
	return error_say(
		err, ENOENT,
		"there is no template \"%s\" (`bawn template ls` shows those "
		"there are; base, tiny and those of agents are made when they "
		"are asked for)",
		shown);
}

/* A name of a folder of ours; images' names may look like one, too. */
static bool is_plain(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return *name && !name[len] && name[0] != '.' && len <= 128;
}

bool template_is_built_in(const char *name)
{
	struct template_ini ini;

	if (!is_plain(name) || template_ini_load(name, &ini, NULL) < 0)
		return false;
	template_ini_release(&ini);
	return true;
}

/* 1 found, 0 none, -1. */
static int find_plain(const char *name, struct template *template,
		      struct error *err)
{
	struct error own = { 0 };

	for (size_t i = 0; is_plain(name) && i < ARRAY_SIZE(kinds); i++) {
		if (template_store_load(kinds[i], TEMPLATE_STORE_NAMED, name,
					template, &own) == 0) {
			template->name = xstrdup(name);
			return 1;
		}
		if (own.code != ENOENT && own.code != EACCES) {
			if (err)
				*err = own;
			return error_prefix(err, "template %s", name);
		}
	}
	return 0;
}

bool template_is_plain(const char *name)
{
	AUTO_TEMPLATE struct template one = { 0 };

	/* a damaged one is one, too */
	return find_plain(name, &one, NULL) != 0;
}

bool template_is_confusing(const struct reference *reference)
{
	static const char official[] = "library/";
	const char *name = reference->repository + strlen(official);

	return strcmp(reference->host, REFERENCE_DEFAULT_HOST) == 0 &&
	       text_starts(reference->repository, official) &&
	       strcmp(reference->tag, "latest") == 0 &&
	       (template_is_built_in(name) || template_is_plain(name));
}

struct search {
	const char *id;  /* "sha256:" and digits, perhaps not all */
	char found[128]; /* name of a folder */
	enum paths_kind kind;
	unsigned count;
	struct template *template; /* of a plain one */
};

static void compare_folder(void *ctx, const char *name)
{
	struct search *search = ctx;

	if (!text_starts(name, digest_name_hex(search->id)) ||
	    strcmp(name, search->found) == 0)
		return;
	search->count++;
	text_copy(search->found, sizeof(search->found), name);
}

static void compare_plain(void *ctx, const char *name)
{
	AUTO_TEMPLATE struct template one = { 0 };
	struct search *search = ctx;

	if (search->template->name || !is_plain(name) ||
	    template_store_load(search->kind, TEMPLATE_STORE_NAMED, name, &one,
				NULL) < 0 ||
	    !text_starts(one.id, search->id))
		return;
	one.name = xstrdup(name);
	*search->template = one;
	one = (struct template){ 0 };
}

/* By the whole id, or by the beginning of one. */
static int find_by_id(const char *id, struct template *template,
		      struct error *err)
{
	struct search search = { .id = id, .template = template };

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !template->name; i++) {
		search.kind = kinds[i];
		template_store_each(kinds[i], TEMPLATE_STORE_CONTENT,
				    compare_folder, &search);
		if (search.count > 1)
			return error_set(
				err, 0,
				"%s: there are several templates whose "
				"id begins so",
				id);
		if (search.count == 1) {
			template->name =
				xasprintf("sha256:%.12s", search.found);
			return template_store_load(kinds[i],
						   TEMPLATE_STORE_CONTENT,
						   search.found, template, err);
		}
		template_store_each(kinds[i], TEMPLATE_STORE_NAMED,
				    compare_plain, &search);
	}
	return template->name ? 0 : no_such(id, err);
}

static int find_content(const char *id, struct template *template,
			struct error *err)
{
	struct error own = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (template_store_load(kinds[i], TEMPLATE_STORE_CONTENT,
					digest_name_hex(id), template,
					&own) == 0)
			return 0;
		else if (own.code != ENOENT && own.code != EACCES) {
			*err = own;
			return -1;
		}
	return find_by_id(id, template, err);
}

static void take_name(struct template_name *from, bool system,
		      struct template *template)
{
	char familiar[REFERENCE_TEXT_MAX] = "";
	struct reference reference;

	if (reference_parse(from->reference, &reference, NULL) == 0)
		reference_familiar(&reference, familiar);
	free(template->name);
	free(template->source);
	template->name = xstrdup(familiar);
	template->reference = TAKE_PTR(from->reference);
	template->source = TAKE_PTR(from->source);
	template->created = from->created;
	template->stand_in = from->stand_in;
	template->name_is_system = system;
	if (!from->has_image)
		return;
	template->image = xmalloc(sizeof(*template->image));
	*template->image = from->image;
	memset(&from->image, 0, sizeof(from->image));
}

static int find_image(const struct reference *reference, const char *name,
		      struct template *template, struct error *err)
{
	struct error own = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		AUTO_TEMPLATE_NAME struct template_name found = { 0 };

		if (template_name_load(kinds[i], reference, &found, &own) < 0) {
			if (own.code == ENOENT || own.code == EACCES)
				continue;
			*err = own;
			return error_prefix(err, "template %s", name);
		}
		if (find_content(found.content, template, &own) < 0) {
			*err = own;
			return error_prefix(err, "the content of template %s",
					    name);
		}
		take_name(&found, kinds[i] == PATHS_SYSTEM, template);
		return 0;
	}
	return no_such(name, err);
}

/* By its content, or by the digest that registries have for it. */
static int find_by_digits(const char *name, struct template *template,
			  struct error *err)
{
	const char *prefix = text_starts(name, "sha256:") ? "" : "sha256:";
	AUTO_FREE char *id = xasprintf("%s%s", prefix, name);
	struct reference reference;

	if (find_by_id(id, template, err) == 0)
		return 0;
	return err->code == ENOENT &&
			       template_digest_find(id, &reference, err) > 0
		       ? find_image(&reference, name, template, err)
		       : -1;
}

int template_find(const char *name, struct template *template,
		  struct error *err)
{
	struct error unused = { 0 };
	struct reference reference;
	int found;

	err = err ? err : &unused;
	*template = (struct template){ 0 };
	found = find_plain(name, template, err);
	if (found)
		return found < 0 ? -1 : 0;
	if (template_is_id(name))
		return find_by_digits(name, template, err);
	if (reference_parse(name, &reference, NULL) < 0)
		return no_such(name, err);
	return find_image(&reference, name, template, err);
}

int template_find_content(const char *name, const char *id,
			  struct template *template, struct error *err)
{
	struct error own = { 0 }, unused;

	err = err ? err : &unused;
	*template = (struct template){ 0 };
	if (find_plain(name, template, &own) > 0) {
		if (strcmp(template->id, id) == 0)
			return 0;
		template_release(template);
	}
	if (!digest_name_is_valid(id) || find_content(id, template, &own) < 0) {
		template_release(template);
		if (own.code && own.code != ENOENT) {
			*err = own;
			return -1;
		}
		return no_such(name, err);
	}
	free(template->name);
	template->name = xstrdup(name);
	return 0;
}

/* ---- making ---- */

static int run_builder(struct template_build *build, struct error *err)
{
	const struct template_builder *builder = template_builders;

	while (builder->name && strcmp(builder->name, build->ini->builder) != 0)
		builder++;
	if (!builder->name)
		return error_set(err, 0, "unknown builder \"%s\"",
				 build->ini->builder);
	return builder->run(build, err);
}

static int make_locked(const char *name, enum template_place place,
		       const struct template_ini *ini,
		       const struct progress *progress,
		       struct template *template, struct error *err)
{
	enum paths_kind kind = template_store_kind(place);
	AUTO_TEMPLATE_STORE struct template_store store = TEMPLATE_STORE_INIT;
	struct template_build build = {
		.name = name, .ini = ini, .place = place, .progress = progress
	};
	struct template_making making;
	AUTO_CLOSE int lock = -1;
	int result;

	if (template_store_open(&store, place, TEMPLATE_STORE_NAMED, err) < 0)
		return -1;
	lock = template_store_lock(&store, name, true, err);
	if (lock < 0)
		return -1;
	/* Somebody may have made it while this one waited. */
	if (template_store_load(kind, TEMPLATE_STORE_NAMED, name, template,
				NULL) < 0) {
		if (template_store_check_space(&store, ini->needs_bytes, err) <
		    0)
			return -1;
		result = template_store_begin(&making, &store, &build, err);
		if (result == 0)
			result = run_builder(&build, err);
		if (result == 0)
			result = template_check_owe(&store, name, ini, err);
		if (result == 0)
			result = template_store_finish(&making, err);
		template_store_end(&making);
		progress_done(progress);
		if (result < 0 ||
		    template_store_load(kind, TEMPLATE_STORE_NAMED, name,
					template, err) < 0)
			return -1;
	}
	template->name = xstrdup(name);
	return 0;
}

int template_ensure(const char *name, enum template_place place,
		    const struct progress *progress, struct template *template,
		    struct error *err)
{
	struct template_ini ini;
	struct error own = { 0 };
	int result;

	if (template_find(name, template, &own) == 0) {
		if (place == TEMPLATE_USER || template->system)
			return 0;
		template_release(template);
	} else if (own.code != ENOENT) {
		if (err)
			*err = own;
		return -1;
	}
	if (!is_plain(name))
		return no_such(name, err);
	if (template_ini_load(name, &ini, &own) < 0) {
		if (own.code == ENOENT)
			return no_such(name, err);
		if (err)
			*err = own;
		return -1;
	}
	result = make_locked(name, place, &ini, progress, template, err);
	template_ini_release(&ini);
	return result < 0 ? error_prefix(err, "template %s", name) : 0;
}

/* ---- checking and removing ---- */

int template_verify(const struct template *template, struct error *err)
{
	AUTO_FREE char *path = xstrdup(template->disk);
	AUTO_CLOSE int folder = -1;

	*strrchr(path, '/') = '\0';
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return error_set(err, errno, "%s", path);
	return template_manifest_verify(folder, err);
}

int template_remove(const char *name, enum template_place place,
		    struct error *err)
{
	AUTO_TEMPLATE_STORE struct template_store store = TEMPLATE_STORE_INIT;
	struct error own = { 0 };
	AUTO_CLOSE int lock = -1;

	if (!is_plain(name))
		return no_such(name, err);
	if (template_store_open(&store, place, TEMPLATE_STORE_NAMED, err) < 0)
		return -1;
	lock = template_store_lock(&store, name, false, &own);
	if (lock < 0)
		return error_set(err, 0, "template %s: %s", name,
				 own.code == EWOULDBLOCK
					 ? "another bawn is making it just now"
					 : own.text);
	if (template_store_remove(&store, name, &own) == 0)
		return 0;
	if (own.code == ENOENT)
		return no_such(name, err);
	if (err)
		*err = own;
	return -1;
}

/* ---- listing ---- */

struct names {
	char *list[NAMES_MAX];
	size_t count;
};

static void collect(void *ctx, const char *name)
{
	struct names *names = ctx;

	if (names->count < NAMES_MAX)
		names->list[names->count++] = xstrdup(name);
}

static void collect_image(void *ctx, const struct template_name *name)
{
	char familiar[REFERENCE_TEXT_MAX];
	struct reference reference;

	if (reference_parse(name->reference, &reference, NULL) < 0)
		return;
	reference_familiar(&reference, familiar);
	collect(ctx, familiar);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int template_each(void (*each)(void *ctx, const struct template *template),
		  void *ctx, struct error *err)
{
	AUTO_FREE struct names *names = xcalloc(1, sizeof(*names));
	struct template template;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		template_store_each(kinds[i], TEMPLATE_STORE_NAMED, collect,
				    names);
		template_name_each(kinds[i], collect_image, names);
	}
	qsort(names->list, names->count, sizeof(names->list[0]), by_name);
	for (size_t i = 0; i < names->count; i++) {
		bool repeated = i > 0 &&
				strcmp(names->list[i], names->list[i - 1]) == 0;

		if (!repeated &&
		    template_find(names->list[i], &template, NULL) == 0) {
			each(ctx, &template);
			template_release(&template);
		}
	}
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	return 0;
}

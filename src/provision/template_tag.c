/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_tag.c - names of templates, and what nobody needs any more
 */
#include "provision/template_tag.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/reference.h"
#include "provision/blob_store.h"
#include "provision/template_manifest.h"
#include "provision/template_names.h"
#include "provision/template_store.h"

/* ---- names ---- */

int template_tag(const char *from, const char *to, enum template_place place,
		 struct error *err)
{
	AUTO_TEMPLATE struct template template = { 0 };
	struct reference reference;
	char full[REFERENCE_TEXT_MAX];
	struct template_name name = { .reference = full };

	if (template_find(from, &template, err) < 0 ||
	    reference_parse(to, &reference, err) < 0)
		return -1;
	if (template_is_confusing(&reference))
		return error_set(err, 0, "%s is a built-in template", to);
	if (reference.digest[0])
		return error_set(err, 0, "%s: a tag is needed, not a digest",
				 to);
	/* who reads there must find what it means there */
	if (place == TEMPLATE_SYSTEM && !template.system)
		return error_set(err, 0,
				 "template %s is yours alone: pull it with "
				 "--system first",
				 from);
	reference_format(&reference, full);
	name.content = template.id;
	name.source = template.source;
	name.created = time(NULL);
	name.stand_in = template.stand_in;
	if (template.image) {
		name.has_image = true;
		name.image = *template.image;
	}
	return template_name_save(place, &name, err);
}

struct others {
	const char *content;
	const char *except; /* a full spelling; or "" */
	unsigned count;
};

static void count_other(void *ctx, const struct template_name *name)
{
	struct others *others = ctx;

	others->count += strcmp(name->content, others->content) == 0 &&
			 strcmp(name->reference, others->except) != 0;
}

static unsigned count_names(const char *content, const char *except)
{
	struct others others = { content, except, 0 };

	template_name_each(PATHS_DATA, count_other, &others);
	template_name_each(PATHS_SYSTEM, count_other, &others);
	return others.count;
}

static bool has_name(const char *content)
{
	return count_names(content, "") > 0;
}

bool template_has_other_name(const struct template *template)
{
	return count_names(template->id, template->reference) > 0;
}

int template_untag(const struct template *template, bool *last,
		   struct error *err)
{
	enum template_place place =
		template->name_is_system ? TEMPLATE_SYSTEM : TEMPLATE_USER;
	struct reference reference;

	if (!template->reference ||
	    reference_parse(template->reference, &reference, err) < 0)
		return error_set(err, EINVAL, "%s", template->name);
	if (template_name_remove(place, &reference, err) < 0)
		return -1;
	*last = !has_name(template->id);
	return 0;
}

/* ---- disks ---- */

struct pruning {
	const struct template_store *store;
	unsigned flags;
	template_used_fn *used;
	void *ctx;
	struct template_pruned *pruned;
};

static uint64_t disk_bytes(const struct template_store *store, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/" TEMPLATE_DISK, name);
	struct stat st;

	return fstatat(store->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0
		       ? (uint64_t)st.st_blocks * 512
		       : 0;
}

static void consider_disk(void *ctx, const char *name)
{
	struct pruning *pruning = ctx;
	AUTO_FREE char *id = xasprintf("sha256:%s", name);
	uint64_t bytes = disk_bytes(pruning->store, name);
	AUTO_CLOSE int lock = -1;

	if (!digest_name_is_valid(id) || has_name(id) ||
	    pruning->used(pruning->ctx, id))
		return;
	/* somebody who makes it, or gives it a name, holds this */
	lock = template_store_lock(pruning->store, name, false, NULL);
	if (lock < 0 || has_name(id))
		return;
	if (!(pruning->flags & TEMPLATE_PRUNE_DRY) &&
	    template_store_remove(pruning->store, name, NULL) < 0)
		return;
	pruning->pruned->disks++;
	pruning->pruned->bytes += bytes;
}

/* ---- parts ---- */

struct wanted {
	char (*digests)[DIGEST_NAME_MAX]; /* owned */
	size_t count, capacity;
};

static void want(struct wanted *wanted, const char *digest)
{
	if (wanted->count == wanted->capacity) {
		wanted->capacity =
			wanted->capacity ? 2 * wanted->capacity : 256;
		wanted->digests =
			xrealloc(wanted->digests,
				 wanted->capacity * sizeof(*wanted->digests));
	}
	text_copy(wanted->digests[wanted->count++], DIGEST_NAME_MAX, digest);
}

static void want_all(void *ctx, const struct template_name *name)
{
	const struct image *image = &name->image;

	if (!name->has_image)
		return;
	want(ctx, image->manifest.digest);
	want(ctx, image->config.digest);
	for (size_t i = 0; i < image->layer_count; i++)
		want(ctx, image->layers[i].digest);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

struct parts {
	struct pruning *pruning;
	struct wanted wanted;
};

static void consider_part(void *ctx, const char *digest, uint64_t bytes,
			  bool *remove)
{
	struct parts *parts = ctx;
	char key[DIGEST_NAME_MAX] = "";

	if (digest)
		text_copy(key, sizeof(key), digest);
	if (digest && parts->wanted.count &&
	    bsearch(key, parts->wanted.digests, parts->wanted.count,
		    DIGEST_NAME_MAX, by_text))
		return;
	parts->pruning->pruned->parts++;
	parts->pruning->pruned->bytes += bytes;
	*remove = !(parts->pruning->flags & TEMPLATE_PRUNE_DRY);
}

static int prune_parts(struct pruning *pruning, struct error *err)
{
	AUTO_BLOB_STORE struct blob_store store = BLOB_STORE_INIT;
	struct parts parts = { .pruning = pruning };
	int result;

	if (blob_store_open(&store, BLOB_STORE_ALONE, err) < 0)
		return -1;
	template_name_each(PATHS_DATA, want_all, &parts.wanted);
	template_name_each(PATHS_SYSTEM, want_all, &parts.wanted);
	qsort(parts.wanted.digests, parts.wanted.count, DIGEST_NAME_MAX,
	      by_text);
	result = blob_store_each(&store, consider_part, &parts, err);
	free(parts.wanted.digests);
	return result;
}

int template_prune(enum template_place place, unsigned flags,
		   template_used_fn *used, void *ctx,
		   struct template_pruned *pruned, struct error *err)
{
	AUTO_TEMPLATE_STORE struct template_store store = TEMPLATE_STORE_INIT;
	struct pruning pruning = { &store, flags, used, ctx, pruned };

	memset(pruned, 0, sizeof(*pruned));
	if (template_store_open(&store, place, TEMPLATE_STORE_CONTENT, err) < 0)
		return -1;
	if (flags & TEMPLATE_PRUNE_DISKS) {
		template_store_clean(&store);
		template_store_each(template_store_kind(place),
				    TEMPLATE_STORE_CONTENT, consider_disk,
				    &pruning);
	}
	if (flags & TEMPLATE_PRUNE_PARTS)
		return prune_parts(&pruning, err);
	return 0;
}

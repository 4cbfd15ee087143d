/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_set.c - which kernel modules the guest gets, and in which order
 */
#include "provision/module_set.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "provision/elf_modinfo.h"

#define NAME_BYTES 64
#define DEPENDS_BYTES 1024
#define DEPTH_MAX 16
#define TREE_MAX 20000
#define OPEN_FOLDERS 16
#define BUILTIN_MAX (1u << 20)

struct resolver {
	struct module_set *all; /* what the tree holds */
	struct module_set *set; /* what was chosen */
	const char *builtin;
	module_read_fn *read;
	void *ctx;
	char section[MODULE_SECTION_BYTES];
};

/* nftw() has no context argument. */
static struct module_set *walk_into;

void module_set_release(struct module_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->modules[i].name);
		free(set->modules[i].path);
	}
	free(set->modules);
	*set = (struct module_set){ 0 };
}

static struct module *add(struct module_set *set, const char *name,
			  const char *path)
{
	set->modules = xrealloc(set->modules,
				(set->count + 1) * sizeof(*set->modules));
	set->modules[set->count] =
		(struct module){ .name = xstrdup(name), .path = xstrdup(path) };
	return &set->modules[set->count++];
}

static const struct module *find(const struct module_set *set, const char *name)
{
	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->modules[i].name, name) == 0)
			return &set->modules[i];
	return NULL;
}

int module_set_name_of(const char *path, char *name, size_t size)
{
	const char *base = strrchr(path, '/');
	const char *end;
	size_t len;

	base = base ? base + 1 : path;
	end = strstr(base, ".ko");
	if (!end || (end[3] != '\0' && end[3] != '.'))
		return -1;
	len = (size_t)(end - base);
	if (len == 0 || len >= size)
		return -1;
	for (size_t i = 0; i < len; i++)
		name[i] = base[i] == '-' ? '_' : base[i];
	name[len] = '\0';
	return 0;
}

static int on_file(const char *path, const struct stat *st, int type,
		   struct FTW *where)
{
	char name[NAME_BYTES];

	if (type == FTW_F && walk_into->count < TREE_MAX &&
	    module_set_name_of(path, name, sizeof(name)) == 0)
		add(walk_into, name, path);
	return 0;
}

static bool is_builtin(const char *builtin, const char *want)
{
	while (builtin && *builtin) {
		size_t len = strcspn(builtin, "\n");
		char line[256], name[NAME_BYTES];

		if (len < sizeof(line)) {
			memcpy(line, builtin, len);
			line[len] = '\0';
			if (module_set_name_of(line, name, sizeof(name)) == 0 &&
			    strcmp(name, want) == 0)
				return true;
		}
		builtin += len + (builtin[len] == '\n');
	}
	return false;
}

static int choose(struct resolver *resolver, const char *name, unsigned depth,
		  struct error *err);

/* depends is "a,b,c", as the module says it. */
static int choose_depends(struct resolver *resolver, char *depends,
			  unsigned depth, struct error *err)
{
	char *rest = depends, *name;

	while ((name = strsep(&rest, ",")))
		if (*name && choose(resolver, name, depth, err) < 0)
			return -1;
	return 0;
}

static int choose(struct resolver *resolver, const char *wanted, unsigned depth,
		  struct error *err)
{
	char name[NAME_BYTES], depends[DEPENDS_BYTES], file[NAME_BYTES + 4];
	const struct module *module;
	AUTO_FREE void *bytes = NULL;
	size_t len = 0;

	if (depth > DEPTH_MAX)
		return error_set(err, 0, "modules depend on each other");
	text_format(file, sizeof(file), "%s.ko", wanted);
	if (module_set_name_of(file, name, sizeof(name)) < 0)
		return error_set(err, 0, "a module's name is too long");
	if (find(resolver->set, name) || is_builtin(resolver->builtin, name))
		return 0;
	module = find(resolver->all, name);
	if (!module) {
		log_debug("kernel module %s: not in this kernel", name);
		return 0;
	}
	if (resolver->read(resolver->ctx, module->path, &bytes, &len, err) <
		    0 ||
	    elf_modinfo_find(bytes, len, "depends", depends, sizeof(depends),
			     err) < 0)
		return error_prefix(err, "%s", module->path);
	if (choose_depends(resolver, depends, depth + 1, err) < 0)
		return -1;
	text_copy(add(resolver->set, name, module->path)->section,
		  MODULE_SECTION_BYTES, resolver->section);
	return 0;
}

/* "[name]" */
static void begin_section(struct resolver *resolver, const char *line)
{
	text_format(resolver->section, sizeof(resolver->section), "%.*s",
		    (int)strcspn(line + 1, "]"), line + 1);
}

static int choose_list(struct resolver *resolver, const char *list,
		       struct error *err)
{
	while (*list) {
		size_t len = strcspn(list, "\n");
		size_t blank = strspn(list, " \t");
		size_t word = strcspn(list + blank, " \t\n#");
		char name[NAME_BYTES];

		if (word >= sizeof(name))
			return error_set(err, 0, "modules.list: long name");
		memcpy(name, list + blank, word);
		name[word] = '\0';
		if (name[0] == '[')
			begin_section(resolver, name);
		else if (word && choose(resolver, name, 0, err) < 0)
			return -1;
		list += len + (list[len] == '\n');
	}
	return 0;
}

int module_set_resolve(struct module_set *set, const char *list,
		       const char *tree, module_read_fn *read, void *ctx,
		       struct error *err)
{
	AUTO_BUFFER struct buffer builtin = BUFFER_INIT(BUILTIN_MAX);
	AUTO_FREE char *builtin_path = xasprintf("%s/modules.builtin", tree);
	struct module_set all = { 0 };
	struct resolver resolver = {
		.all = &all, .set = set, .read = read, .ctx = ctx
	};
	int result;

	*set = (struct module_set){ 0 };
	if (fileio_read(AT_FDCWD, builtin_path, &builtin, err) < 0)
		return -1;
	resolver.builtin = buffer_str(&builtin);
	walk_into = &all;
	if (nftw(tree, on_file, OPEN_FOLDERS, FTW_PHYS) != 0)
		result = error_set(err, 0, "%s: cannot be read", tree);
	else
		result = choose_list(&resolver, list, err);
	walk_into = NULL;
	module_set_release(&all);
	if (result < 0)
		module_set_release(set);
	return result;
}

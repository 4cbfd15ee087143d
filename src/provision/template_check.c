/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_check.c - a template that was made here is tried once in a guest
 */
#include "provision/template_check.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "provision/template_ini.h"
#include "provision/template_store.h"

#define MARK ".check-"

static char *mark_path(const char *name)
{
	AUTO_FREE char *sub =
		xasprintf(TEMPLATE_STORE_NAMED "/" MARK "%s", name);

	return strchr(name, '/') ? NULL : paths_of(PATHS_DATA, sub, NULL);
}

int template_check_owe(const struct template_store *store, const char *name,
		       const struct template_ini *ini, struct error *err)
{
	AUTO_FREE char *mark = xasprintf(MARK "%s", name);

	if (!ini->check || store->place == TEMPLATE_SYSTEM)
		return 0;
	return fileio_replace(store->fd, mark, "", 0, 0600, 0, err);
}

char *template_check_due(const char *name)
{
	AUTO_FREE char *mark = mark_path(name);
	struct template_ini ini;
	char *command;

	if (!mark || access(mark, F_OK) < 0 ||
	    template_ini_load(name, &ini, NULL) < 0)
		return NULL;
	command = TAKE_PTR(ini.check);
	template_ini_release(&ini);
	return command;
}

void template_check_done(const char *name)
{
	AUTO_FREE char *mark = mark_path(name);

	if (mark)
		(void)unlink(mark);
}

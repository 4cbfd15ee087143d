/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_check.h - a template that was made here is tried once in a guest
 *
 * "check" of its .ini is a command that has to work. Nothing of a template
 * runs on the host, so that the first sandbox on it does that.
 */
#pragma once

struct error;
struct template_ini;
struct template_store;

/* A new one has to be tried; a file beside it says so. System-wide ones are
 * not: nobody but root could take note of it. */
int template_check_owe(const struct template_store *store, const char *name,
		       const struct template_ini *ini, struct error *err);
/* The command, malloc'd; NULL: there is nothing to try. */
char *template_check_due(const char *name);
void template_check_done(const char *name);

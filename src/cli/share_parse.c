/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_parse.c - a folder or file of the host, as the user names one
 */
#include "cli/share_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/share_path.h"
#include "state/share_list.h"

AUTO_DEFINE(json, json_t *, json_decref)

#define READ_ONLY ":ro"
#define READ_WRITE ":rw"

void share_release(struct share_record *share)
{
	free(share->host);
	free(share->guest);
	*share = (struct share_record){ 0 };
}

static char *expand_home(const char *path)
{
	const char *home = getenv("HOME");

	if (path[0] != '~' || (path[1] && path[1] != '/') || !home)
		return xstrdup(path);
	return xasprintf("%s%s", home, path + 1);
}

static bool same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* What `pwd` says: through the links that the user came by. */
static char *current_folder(void)
{
	const char *pwd = getenv("PWD");
	char here[PATH_MAX];

	if (pwd && *pwd == '/' && same_file(pwd, "."))
		return xstrdup(pwd);
	return getcwd(here, sizeof(here)) ? xstrdup(here) : NULL;
}

/* The path as the user sees it; the real one where ".." and links disagree. */
static char *visible_path(const char *path, const char *real)
{
	AUTO_FREE char *here = NULL;
	AUTO_FREE char *whole = NULL;
	AUTO_FREE char *tidy = NULL;
	AUTO_FREE char *leads_to = NULL;

	if (*path != '/') {
		here = current_folder();
		if (!here)
			return xstrdup(real);
		whole = xasprintf("%s/%s", here, path);
	}
	tidy = share_path_tidy(whole ? whole : path);
	leads_to = realpath(tidy, NULL);
	if (!leads_to || strcmp(leads_to, real))
		return xstrdup(real);
	return TAKE_PTR(tidy);
}

static int check_type(const char *real, const char *shown, struct error *err)
{
	AUTO(json) json_t *text = json_string(real);
	struct stat st;
	int need = R_OK;

	if (stat(real, &st) < 0)
		return error_set(err, errno, "%s", shown);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return error_set(err, 0,
				 "%s: neither a folder nor a file, it cannot "
				 "be shared",
				 shown);
	if (S_ISDIR(st.st_mode))
		need |= X_OK;
	if (faccessat(AT_FDCWD, real, need, AT_EACCESS) < 0)
		return error_set(err, errno, "%s: cannot be shared", shown);
	if (!text)
		return error_set(
			err, 0, "%s: its path is not UTF-8 (rename it)", shown);
	return 0;
}

static int resolve(const char *given, struct share_record *share,
		   struct error *err)
{
	AUTO_FREE char *path = expand_home(given);
	char shown[256];

	text_printable(given, strlen(given), shown, sizeof(shown));
	share->host = realpath(path, NULL);
	if (!share->host && errno == ENOENT)
		return error_say(err, ENOENT,
				 "%s: no such folder or file (make it first)",
				 shown);
	if (!share->host)
		return error_set(err, errno, "%s", shown);
	if (check_type(share->host, shown, err) < 0)
		return -1;
	share->guest = visible_path(path, share->host);
	return 0;
}

/* Cuts ":ro" or ":rw" off. */
static void cut_mode(char *text, bool *read_only)
{
	*read_only = text_ends(text, READ_ONLY);
	if (*read_only || text_ends(text, READ_WRITE))
		text[strlen(text) - strlen(READ_ONLY)] = '\0';
}

/* A file whose name really ends in ":ro", or has a colon, is taken so. */
static bool exists(const char *text)
{
	AUTO_FREE char *path = expand_home(text);

	return access(path, F_OK) == 0;
}

/* Words of Docker's that change nothing here. */
static bool means_nothing(const char *word)
{
	static const char *const words[] = { "z", "Z", "cached", "consistent",
					     "delegated" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

/*
 * Cuts ":ro,z" off. What is no such word is refused: a misspelt "ro" would be
 * a writable folder, at a place of that name.
 */
static int cut_words(char *text, bool *read_only, struct error *err)
{
	char *colon = strrchr(text, ':'), *save = NULL;
	char shown[256];

	if (!colon || strchr(colon, '/'))
		return 0;
	for (char *word = strtok_r(colon + 1, ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		if (!strcmp(word, "ro")) {
			*read_only = true;
		} else if (strcmp(word, "rw") != 0 && !means_nothing(word)) {
			text_printable(word, strlen(word), shown,
				       sizeof(shown));
			return options_usage(err,
					     "%s: neither ro nor rw, which is "
					     "what may stand behind "
					     "HOST:GUEST",
					     shown);
		}
	}
	*colon = '\0';
	return 0;
}

static int parse_volume(char *text, struct share_record *share,
			struct error *err)
{
	AUTO_FREE char *host = NULL;
	AUTO_FREE char *guest = NULL;

	if (strstr(text, ":/") && cut_words(text, &share->read_only, err) < 0)
		return -1;
	if (share_split(text, &host, &guest) < 0) {
		char shown[256];

		text_printable(text, strlen(text), shown, sizeof(shown));
		return options_usage(err,
				     "%s: not HOST:GUEST[:ro] (GUEST must be "
				     "absolute)",
				     shown);
	}
	if (share_guest_check(guest, err) < 0 || resolve(host, share, err) < 0)
		return -1;
	free(share->guest);
	share->guest = share_path_tidy(guest);
	return 0;
}

static int parse(const char *text, enum share_form form,
		 struct share_record *share, struct error *err)
{
	AUTO_FREE char *plain = xstrdup(text);
	bool as_is = form != SHARE_FORM_VOLUME && exists(text);

	if (!as_is && form != SHARE_FORM_VOLUME)
		cut_mode(plain, &share->read_only);
	if (form == SHARE_FORM_VOLUME || (form == SHARE_FORM_MOUNT && !as_is &&
					  !exists(plain) && strchr(plain, ':')))
		return parse_volume(plain, share, err);
	return resolve(plain, share, err);
}

int share_parse(const char *text, enum share_form form,
		struct share_record *share, struct error *err)
{
	*share = (struct share_record){ 0 };
	if (parse(text, form, share, err) == 0)
		return 0;
	share_release(share);
	return -1;
}

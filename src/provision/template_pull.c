/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_pull.c - a template by whatever name: ours, an image's, or an id
 *
 * Docker's own sandbox templates (docker/sandbox-templates:*) have one of ours
 * as a stand-in: who has scripts that name them can use these without that
 * registry. The name then points to ours, marked, and the next new sandbox
 * tries the registry again.
 */
#include "provision/template_pull.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/reference.h"
#include "provision/image_intake.h"
#include "provision/registry_order.h"
#include "provision/template_load.h"
#include "provision/template_names.h"
#include "provision/template_store.h"
#include "state/agents.h"

#define STAND_IN_REPOSITORY "docker/sandbox-templates"
#define DEFAULT_OWN "base"

AUTO_DEFINE(json, json_t *, json_decref)

char *template_canonical(const char *name)
{
	char familiar[REFERENCE_TEXT_MAX];
	struct reference reference;

	if (template_is_built_in(name) || template_is_plain(name) ||
	    template_is_id(name) || reference_parse(name, &reference, NULL) < 0)
		return xstrdup(name);
	reference_familiar(&reference, familiar);
	return xstrdup(familiar);
}

static bool has_stand_in(const struct reference *reference)
{
	return strcmp(reference->host, REFERENCE_DEFAULT_HOST) == 0 &&
	       strcmp(reference->repository, STAND_IN_REPOSITORY) == 0 &&
	       !reference->digest[0];
}

/* ---- fetching ---- */

static int save_name(const struct template_wish *wish,
		     const struct reference *reference,
		     const struct intake *intake, struct error *err)
{
	char full[REFERENCE_TEXT_MAX];
	struct template_name name = { .reference = full,
				      .content = (char *)intake->content,
				      .source = (char *)reference->host,
				      .created = time(NULL),
				      .has_image = true,
				      .image = intake->image };

	reference_format(reference, full);
	return template_name_save(wish->place, &name, err);
}

/* verdict gets why it failed. */
static int fetch(const struct template_wish *wish,
		 const struct reference *reference,
		 char verdict[IMAGE_PROCESS_VERDICT], struct error *err)
{
	static const char *const argv[] = { "bawn-registry", "fetch", NULL };
	struct registry_order order = { .reference = reference,
					.hurry = has_stand_in(reference) };
	AUTO_CLOSE int input = registry_order_open(&order, err);
	AUTO_INTAKE struct intake intake = INTAKE_INIT;
	char familiar[REFERENCE_TEXT_MAX];
	AUTO_FREE char *title = NULL;
	struct intake_source source = { .argv = argv, .input = input };
	int result;

	verdict[0] = '\0';
	if (input < 0)
		return -1;
	reference_familiar(reference, familiar);
	title = xasprintf("pulling %s", familiar);
	source.title = title;
	result = intake_run(&source, wish->place, wish->progress, &intake, err);
	text_copy(verdict, IMAGE_PROCESS_VERDICT, intake.verdict);
	if (result == 0)
		result = save_name(wish, reference, &intake, err);
	return result < 0 ? error_prefix(err, "image %s", familiar) : 0;
}

/* ---- ours instead ---- */

static char *own_for(const struct reference *reference)
{
	AUTO(json) json_t *agents = agents_load(NULL);
	const json_t *agent = agents_find(agents, reference->tag);
	const char *name = agent ? agent_text(agent, "template") : DEFAULT_OWN;

	return xstrdup(template_is_built_in(name) ? name : DEFAULT_OWN);
}

static int stand_in(const struct template_wish *wish,
		    const struct reference *reference, const char *why,
		    char note[512], struct error *err)
{
	AUTO_TEMPLATE struct template own = { 0 };
	AUTO_FREE char *own_name = own_for(reference);
	char full[REFERENCE_TEXT_MAX];
	struct template_name name = { .reference = full,
				      .source = own_name,
				      .created = time(NULL),
				      .stand_in = true };

	if (template_ensure(own_name, wish->place, wish->progress, &own, err) <
	    0)
		return -1;
	reference_format(reference, full);
	name.content = own.id;
	text_format(note, 512, "%s:%s is bawn's own template %s (%s)",
		    reference->repository, reference->tag, own_name, why);
	return template_name_save(wish->place, &name, err);
}

/* ---- deciding ---- */

static int pull(const struct template_wish *wish,
		const struct reference *reference, char note[512],
		struct error *err)
{
	AUTO_CLOSE int lock = template_name_lock(wish->place, reference, err);
	char verdict[IMAGE_PROCESS_VERDICT];
	AUTO_TEMPLATE struct template other = { 0 };

	if (lock < 0)
		return -1;
	/* somebody may have fetched it while we waited */
	if (wish->policy == TEMPLATE_PULL_MISSING &&
	    template_find(wish->name, &other, NULL) == 0 && !other.stand_in &&
	    (wish->place == TEMPLATE_USER || other.name_is_system))
		return 0;
	if (fetch(wish, reference, verdict, err) == 0)
		return 0;
	if (!has_stand_in(reference) || strcmp(verdict, "unreachable") != 0)
		return -1;
	return stand_in(wish, reference, "the registry cannot be reached", note,
			err);
}

static int without_pull(const struct template_wish *wish,
			const struct reference *reference, char note[512],
			struct error *err)
{
	struct error own = { 0 };

	if (wish->ask_engine &&
	    template_load_from_engine(reference, wish, &own) == 0)
		return 0;
	if (has_stand_in(reference))
		return stand_in(wish, reference, "nothing is to be pulled",
				note, err);
	if (own.text[0]) {
		*err = own;
		return -1;
	}
	return error_say(err, ENOENT,
			 "image %s is not here (`bawn template ls` shows what "
			 "is), and --pull never forbids to fetch it",
			 wish->name);
}

static int obtain_image(const struct template_wish *wish,
			const struct reference *reference,
			struct template *template, char note[512],
			struct error *err)
{
	struct error own = { 0 };
	bool here = template_find(wish->name, template, &own) == 0;
	int result;

	if (!here && own.code != ENOENT &&
	    wish->policy != TEMPLATE_PULL_ALWAYS) {
		*err = own;
		return -1;
	}
	if (here &&
	    (wish->policy == TEMPLATE_PULL_NEVER ||
	     (wish->policy == TEMPLATE_PULL_MISSING && !template->stand_in &&
	      (wish->place == TEMPLATE_USER || template->name_is_system))))
		return 0;
	template_release(template);
	result = wish->policy == TEMPLATE_PULL_NEVER
			 ? without_pull(wish, reference, note, err)
			 : pull(wish, reference, note, err);
	return result < 0 ? -1 : template_find(wish->name, template, err);
}

int template_obtain(const struct template_wish *wish, struct template *template,
		    char note[512], struct error *err)
{
	struct reference reference;

	note[0] = '\0';
	*template = (struct template){ 0 };
	if (template_is_built_in(wish->name) || template_is_plain(wish->name))
		return template_ensure(wish->name, wish->place, wish->progress,
				       template, err);
	if (template_is_id(wish->name))
		return template_find(wish->name, template, err);
	if (reference_parse(wish->name, &reference, err) < 0)
		return -1;
	return obtain_image(wish, &reference, template, note, err);
}

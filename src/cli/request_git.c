/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_git.c - what a request says about git and ssh
 */
#include "cli/request.h"

#include <string.h>

#include "base/error.h"
#include "cli/options.h"
#include "cli/store.h"

int request_take_git(const struct options *options, struct request *request,
		     struct error *err)
{
	const char *identity = options_value(options, "git-identity");

	if (identity && strcmp(identity, "on") && strcmp(identity, "off"))
		return options_usage(err, "--git-identity %s: on or off",
				     identity);
	request->git_identity_given = identity;
	request->no_git_identity = identity && !strcmp(identity, "off");
	return 0;
}

int request_compare_git(const struct request *request,
			const struct sandbox *sandbox, struct error *err)
{
	bool off = sandbox->record.no_git_identity;

	if (request->git_identity_given && request->no_git_identity != off)
		return request_differs(sandbox, "--git-identity",
				       off ? "off" : "on", off ? "on" : "off",
				       err);
	return 0;
}

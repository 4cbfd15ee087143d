/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_git.c - what a request says about git and ssh
 */
#include "cli/request.h"

#include <string.h>

#include "base/error.h"
#include "cli/options.h"
#include "cli/ssh_keys.h"
#include "cli/store.h"

int request_take_git(const struct options *options, struct request *request,
		     struct error *err)
{
	const char *identity = options_value(options, "git-identity");
	const char *keys = options_value(options, "ssh-agent");

	if (identity && strcmp(identity, "on") && strcmp(identity, "off"))
		return options_usage(err, "--git-identity %s: on or off",
				     identity);
	request->git_identity_given = identity;
	request->no_git_identity = identity && !strcmp(identity, "off");
	if (!keys)
		return 0;
	if (request->sockets.count == SOCKET_LIST_MAX)
		return options_usage(
			err, "--ssh-agent: there are %d sockets already",
			SOCKET_LIST_MAX);
	request->ssh_keys = ssh_keys_choose(keys, err);
	return request->ssh_keys ? 0 : error_prefix(err, "--ssh-agent");
}

int request_compare_git(const struct request *request,
			const struct sandbox *sandbox, struct error *err)
{
	const char *keys = sandbox->record.ssh_keys;
	bool off = sandbox->record.no_git_identity;

	if (request->git_identity_given && request->no_git_identity != off)
		return request_differs(sandbox, "--git-identity",
				       off ? "off" : "on", off ? "on" : "off",
				       err);
	if (request->ssh_keys && (!keys || strcmp(keys, request->ssh_keys)))
		return request_differs(sandbox, "as --ssh-agent",
				       keys ? "other keys" : "none",
				       "these keys", err);
	return 0;
}

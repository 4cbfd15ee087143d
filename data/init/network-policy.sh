#!/bin/sh
# network-policy.sh NAME - deny all, then allow what agents and packages need
set -eu
name=${1:?usage: network-policy.sh NAME}
bawn network proxy "$name" --policy deny \
	--allow-host api.anthropic.com \
	--allow-host statsig.anthropic.com \
	--allow-host statsig.com \
	--allow-host sentry.io \
	--allow-host '*.npmjs.org' \
	--allow-host '*.yarnpkg.com' \
	--allow-host github.com \
	--allow-host '*.github.com' \
	--allow-host '*.githubusercontent.com'

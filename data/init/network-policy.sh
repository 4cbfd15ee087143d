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

# the models of other agents
allow() {
	for host; do
		bawn network proxy "$name" --allow-host "$host"
	done
}
case $(bawn inspect "$name" | sed -n 's/^ *"agent": "\(.*\)",*$/\1/p') in
codex) allow api.openai.com chatgpt.com auth.openai.com ;;
copilot) allow '*.githubcopilot.com' ;;
cursor) allow '*.cursor.sh' '*.cursor.com' ;;
gemini) allow generativelanguage.googleapis.com ;;
opencode) allow api.openai.com generativelanguage.googleapis.com ;;
esac

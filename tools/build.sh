#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh - configure a build folder once, then build it; silent when nothing
# is to be done
#
# usage: tools/build.sh FOLDER [MESON OPTION...]
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT

if [ ! -f "$folder/build.ninja" ]; then
	echo "configuring $folder"
	if ! meson setup "$folder" "$@" >"$log" 2>&1; then
		cat "$log" >&2
		# A half-made folder would be taken for a configured one.
		rm -rf "$folder"
		exit 1
	fi
elif [ $# -gt 0 ]; then
	meson configure "$folder" "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi

if ! ninja -C "$folder" -n | grep -q 'no work to do'; then
	echo "building $folder"
	if ! ninja -C "$folder" --quiet >"$log" 2>&1; then
		cat "$log" >&2
		exit 1
	fi
	grep -A4 'warning:' "$log" >&2 || true
fi
if [ -x "$folder/src/cli/bawn" ]; then
	ln -sfn src/cli/bawn "$folder/bawn"
fi

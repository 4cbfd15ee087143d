#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh - `make run`: a sandbox on the current folder
#
# On a terminal it opens a shell in it; in a pipe it shows what works and ends.
set -eu
bawn=$(dirname "$0")/../build/bawn

if [ -t 0 ] && [ -t 1 ]; then
	echo "opening a sandbox on $PWD (exit ends the shell, Ctrl-P Ctrl-Q leaves it)"
	exec "$bawn" run shell .
fi

one=demo-one-$$
two=demo-two-$$
trap '"$bawn" rm -f "$one" "$two" >/dev/null 2>&1 || true' EXIT
trap 'exit 130' INT TERM

step() {
	printf '\n== %s\n' "$*"
}

step "two sandboxes, $one and $two"
"$bawn" create --name "$one" shell .
"$bawn" create --name "$two" shell .

step "each has a kernel of its own"
echo "host:  $(uname -sr)"
echo "guest: $("$bawn" exec "$one" uname -sr)"

step "they are two machines, restored from one image"
for name in "$one" "$two"; do
	# shellcheck disable=SC2016 # the guest expands it
	"$bawn" exec "$name" sh -c \
		'echo "$(hostname): machine-id $(cat /etc/machine-id)"'
done

step "this folder is in there, at the same path, both ways"
"$bawn" exec "$one" pwd
file=.demo-$$
trap '"$bawn" rm -f "$one" "$two" >/dev/null 2>&1 || true; rm -f "$file"' EXIT
echo "written outside" >"$file"
"$bawn" exec "$one" cat "$file"
"$bawn" exec "$two" sh -c "echo 'written inside' > $file"
cat "$file"
rm -f "$file"

step "exec passes bytes and exit codes through"
echo 'typed outside' | "$bawn" exec -i "$one" tr a-z A-Z
code=0
"$bawn" exec "$one" sh -c 'exit 7' || code=$?
echo "exit code $code"

step "bawn ls"
"$bawn" ls

step "stop and remove"
"$bawn" stop --power-off "$one" "$two"
"$bawn" rm -f "$one" "$two"

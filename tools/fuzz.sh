#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh - builds every fuzz target with clang and runs each for SECONDS
#
# usage: [SECONDS=30] tools/fuzz.sh [TARGET...]
# New inputs go to build-fuzz/found/TARGET, what the fuzzer says to TARGET.log
# beside it; a crash stops the run, with its input there.
set -eu

# shellcheck disable=SC3028 # ours, from the environment
seconds=${SECONDS:-30}
[ "$seconds" -gt 0 ] 2>/dev/null || seconds=30
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

if [ ! -f build-fuzz/build.ninja ]; then
	CC=clang meson setup build-fuzz -Dfuzz=true -Dbuildtype=debugoptimized \
		-Db_sanitize=address,undefined -Db_lundef=false \
		-Dc_args=-fsanitize=fuzzer-no-link >build-fuzz.log 2>&1 || {
		cat build-fuzz.log >&2
		exit 1
	}
	rm -f build-fuzz.log
fi
ninja -C build-fuzz fuzzers >/dev/null

if [ $# -eq 0 ]; then
	for program in build-fuzz/tests/fuzz/fuzz_*; do
		if [ -f "$program" ] && [ -x "$program" ]; then
			set -- "$@" "${program##*/fuzz_}"
		fi
	done
fi
for target in "$@"; do
	found=build-fuzz/found/$target
	mkdir -p "$found"
	printf 'fuzz: %s for %s s: ' "$target" "$seconds"
	if ! "build-fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" \
		-timeout=10 -rss_limit_mb=1024 -max_len=65536 \
		-artifact_prefix="$found/crash-" "$found" \
		"tests/fuzz/corpus/$target" >"$found.log" 2>&1; then
		echo "FAILED"
		tail -n 40 "$found.log" >&2
		exit 1
	fi
	tail -n 1 "$found.log"
done

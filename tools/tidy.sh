#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh - clang-tidy and cppcheck over the sources of a build folder
set -eu
cd "$(dirname "$0")/.."
folder=$1
jobs=$(nproc)

# gcc's own flags are unknown to clang and would be errors.
# One file a run: with several, clang-tidy 14 invents warnings about va_list.
git ls-files 'src/*.c' | xargs -P "$jobs" -n 1 clang-tidy --quiet \
	-p "$folder" --extra-arg=-Wno-unknown-warning-option \
	--extra-arg=-Wno-ignored-optimization-argument \
	--extra-arg=-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang
cppcheck --quiet --error-exitcode=1 -j "$jobs" --inline-suppr \
	--enable=warning,portability --suppress=missingIncludeSystem \
	--std=c11 -D_GNU_SOURCE -DBAWN_VERSION='"0"' -I src src

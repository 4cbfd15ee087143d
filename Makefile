# SPDX-License-Identifier: Apache-2.0
# Makefile - the front door; the build itself is meson's (meson.build).
PREFIX ?= /usr/local
DESTDIR ?=
export PREFIX DESTDIR

all:
	@tools/deps.sh build run
	@tools/build.sh build

run: all
	@tools/demo.sh

test: all
	@tools/deps.sh test
	@tests/run

soak: all
	@tools/deps.sh test
	@tests/run --soak
	@tests/mutate

mutate:
	@tools/deps.sh build test
	@tests/mutate

bench: all
	@tools/deps.sh test bench
	@bench/run

install:
	@tools/deps.sh build
	@tools/build.sh build-install --prefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C build-install --no-rebuild --quiet
	@tools/plugin.sh

deb:
	@tools/deps.sh build package
	@tools/deb.sh .

format:
	@tools/deps.sh lint
	@git ls-files 'src/*.[ch]' 'tests/*.[ch]' | xargs -r clang-format -i

tidy: all
	@tools/deps.sh lint
	@tools/tidy.sh build

fuzz:
	@tools/deps.sh build lint
	@tools/fuzz.sh

clean:
	rm -rf build build-*

.PHONY: all run test soak mutate bench install deb format tidy fuzz clean

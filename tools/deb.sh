#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb.sh - make a Debian package of what `make install` installs
#
# usage: tools/deb.sh [FOLDER]    (where the package goes; . by default)
#
# What it depends on: the libraries that dpkg-shlibdeps finds in the programs,
# and the run group of deps.sh. No maintainer scripts: nothing runs at start-up,
# and what users make lies in their own folders.
set -eu
goal=$(cd "${1:-.}" && pwd)
cd "$(dirname "$0")/.."

tools/build.sh build-deb --prefix=/usr --libexecdir=lib
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -m 755 "$root"
DESTDIR=$root meson install -C build-deb --no-rebuild --quiet
find "$root" -name '*.[158]' -type f -exec gzip -9n {} +
install -Dm 644 LICENSE "$root/usr/share/doc/bawn/copyright"
install -m 644 README.md "$root/usr/share/doc/bawn/README.md"

version=$(meson introspect build-deb --projectinfo |
	sed -n 's/.*"version": "\([^"]*\)".*/\1/p')
arch=$(dpkg --print-architecture)

# dpkg-shlibdeps wants a source package around it
mkdir "$work/debian"
printf 'Source: bawn\n\nPackage: bawn\nArchitecture: any\n' >"$work/debian/control"
programs=$(find "$root/usr/bin" "$root/usr/lib" -type f -exec file {} + |
	sed -n 's/: *ELF.*dynamically linked.*//p')
# shellcheck disable=SC2086 # our own names, without blanks
libraries=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info $programs 2>/dev/null |
	sed -n 's/^shlibs:Depends=//p')
[ -n "$libraries" ] || { echo "deb.sh: dpkg-shlibdeps found no library" >&2; exit 1; }
needed=$(tools/deps.sh --list run | sed 's/ *$//; s/ /, /g')

mkdir -m 755 "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: bawn
Version: $version
Architecture: $arch
Maintainer: bawn developers <bawn@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $libraries, $needed
Recommends: git
Section: devel
Priority: optional
Description: sandboxes with their own kernel for coding agents
 bawn runs a coding agent with full permissions in a small virtual machine for
 each project: the folder at the same path, a network that is a gate, secrets
 that never enter, no daemon, with or without hardware virtualisation.
END
dpkg-deb --root-owner-group --build "$root" "$goal/bawn_${version}_$arch.deb" >/dev/null
echo "$goal/bawn_${version}_$arch.deb"

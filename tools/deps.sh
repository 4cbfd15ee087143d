#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deps.sh - see to it that the Debian packages of these groups are installed
#
# usage: tools/deps.sh GROUP...    (build run test bench package lint)
#        tools/deps.sh --list GROUP...
#
# Nothing missing: one dpkg-query, no word. Something missing: apt-get, through
# sudo when we are not root. Not Debian: the list is printed once, and we go on
# if the tools are there by another way.
set -eu

build='gcc libc6-dev meson ninja-build pkg-config libjansson-dev libseccomp-dev
libarchive-dev libc-ares-dev libcurl4-openssl-dev libnghttp2-dev libext2fs-dev comerr-dev
libssl-dev scdoc'
run='qemu-system-x86 mmdebstrap e2fsprogs busybox-static kmod uidmap
fakechroot fakeroot ca-certificates'
test='python3 python3-pytest curl nghttp2-client nghttp2-server tmux util-linux procps mount git
clang-format codespell shellcheck qemu-utils python3-dnspython python3-h2 iproute2 nftables
squid-openssl nginx nodejs tinyproxy openssl musl-tools cpio zstd lz4 xz-utils bzip2
docker-registry skopeo umoci buildah wget openssh-client openssh-server postgresql'
bench='python3 squid-openssl tinyproxy mitmproxy wrk nghttp2-client nginx nftables runsc e2fsprogs
qemu-system-x86 qemu-system-common qemu-utils ripgrep git valgrind docker-registry skopeo umoci'
package='dpkg-dev file'
lint='clang libclang-rt-14-dev clang-format clang-tidy cppcheck codespell shellcheck'

list_only=no
if [ "${1-}" = --list ]; then
	list_only=yes
	shift
fi

wanted=
tools=
for group; do
	case $group in
	build) wanted="$wanted $build" tools="$tools cc meson ninja pkg-config" ;;
	run) wanted="$wanted $run" tools="$tools qemu-system-x86_64" ;;
	test) wanted="$wanted $test" tools="$tools python3 tmux" ;;
	bench) wanted="$wanted $bench" tools="$tools python3" ;;
	package) wanted="$wanted $package" tools="$tools dpkg-deb" ;;
	lint) wanted="$wanted $lint" tools="$tools clang-format" ;;
	*)
		echo "deps.sh: no group $group (build run test bench package lint)" >&2
		exit 2
		;;
	esac
done
# shellcheck disable=SC2086 # the lists are words
wanted=$(printf '%s\n' $wanted | sort -u | tr '\n' ' ')

if [ $list_only = yes ]; then
	echo "$wanted"
	exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	missing=
	for tool in $tools; do
		command -v "$tool" >/dev/null || missing="$missing $tool"
	done
	if [ -n "$missing" ]; then
		echo "This is not Debian; please install what these packages hold" \
			"(missing here:$missing):" >&2
		echo "  $wanted" >&2
		exit 1
	fi
	exit 0
fi

# shellcheck disable=SC2086
missing=$( (
	printf '%s\n' $wanted
	dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null |
		sed -n 's/ installed$//p' | sort -u
) | sort | uniq -u | tr '\n' ' ')
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps.sh: missing packages; as root: apt-get install $missing" >&2
		exit 1
	fi
	as_root=sudo
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Of packages that bring a server the tests want the program, not the service:
# unpacked without these files, nothing starts, now or with the machine, and no
# port that is in use already can make the installation fail.
without=
for service in docker-registry nginx squid tinyproxy ssh postgresql; do
	for place in etc/init.d/ lib/systemd/system/ usr/lib/systemd/system/; do
		without="$without -o DPkg::Options::=--path-exclude=/$place$service"
		without="$without -o DPkg::Options::=--path-exclude=/$place$service.service"
	done
done

# A lock that another apt-get holds is waited for, not an error.
apt() {
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq \
		-o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null
}
install() {
	# shellcheck disable=SC2086
	apt -y --no-install-recommends $without install $missing
}

echo "installing packages: $missing"
if ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then
	apt update || { cat "$log" >&2; exit 1; }
fi
# Old lists name versions that are gone: look again once.
install || { apt update && install; } || { cat "$log" >&2; exit 1; }

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_share_place.c - one folder under two paths is one place
 */
#include "cli/share_place.h"

#include <string.h>

#include "lib/tap.h"

static const char mounts[] =
	"20 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	"21 20 0:5 / /proc rw - proc proc rw\n"
	"damaged\n"
	"22 20 254:0 /home/u/state /mnt/a\\040b rw - ext4 /dev/vda rw\n"
	"23 20 254:1 / /data rw - ext4 /dev/vdb rw\n"
	"24 23 254:0 / /data/host rw - ext4 /dev/vda rw\n"
	"25 20 254:1 /x /data2 rw - ext4 /dev/vdb rw\n"
	"26 20 254:0 /covered /over rw - ext4 /dev/vda rw\n"
	"27 20 254:0 /covers /over rw - ext4 /dev/vda rw\n";

static bool is_at(const char *path, unsigned minor, const char *expected)
{
	AUTO_SHARE_PLACE struct share_place place = { 0 };

	share_place_of(mounts, path, &place);
	return place.path && place.minor == minor &&
	       !strcmp(place.path, expected);
}

static bool within(const char *inner, const char *outer)
{
	AUTO_SHARE_PLACE struct share_place one = { 0 }, two = { 0 };

	share_place_of(mounts, inner, &one);
	share_place_of(mounts, outer, &two);
	return share_place_within(&one, &two);
}

static void a_path_is_found_on_its_file_system(void)
{
	CHECK(is_at("/", 0, "/") && is_at("/home/u", 0, "/home/u"));
	CHECK(is_at("/mnt/a b", 0, "/home/u/state"));
	CHECK(is_at("/mnt/a b/c", 0, "/home/u/state/c"));
	CHECK(is_at("/mnt/a bc", 0, "/mnt/a bc"));
	CHECK(is_at("/data", 1, "/") && is_at("/data/x", 1, "/x"));
	CHECK(is_at("/data/host/etc", 0, "/etc"));
	CHECK(is_at("/over/x", 0, "/covers/x"));
}

static void the_same_place_is_seen_by_every_path(void)
{
	CHECK(within("/mnt/a b", "/home/u/state"));
	CHECK(within("/mnt/a b/sandboxes", "/home/u/state"));
	CHECK(within("/data/host/home/u/state/x", "/home/u/state"));
	CHECK(within("/data2", "/data/x") && within("/data/x", "/data2"));
	CHECK(!within("/data/home/u/state", "/home/u/state"));
	CHECK(!within("/home/u", "/home/u/state"));
}

static void what_is_mounted_in_a_folder_is_found(void)
{
	AUTO_SHARE_PLACE struct share_place place = { 0 };
	const char *at = mounts;

	CHECK(share_place_next(&at, "/data", &place) && place.minor == 1);
	CHECK(share_place_next(&at, "/data", &place) && place.minor == 0 &&
	      !strcmp(place.path, "/"));
	CHECK(!share_place_next(&at, "/data", &place));
	at = "";
	CHECK(!share_place_next(&at, "/", &place));
}

static void without_mounts_nothing_is_known(void)
{
	AUTO_SHARE_PLACE struct share_place place = { 0 };

	share_place_of("", "/", &place);
	CHECK(!place.path && !share_place_within(&place, &place));
}

int main(void)
{
	RUN(a_path_is_found_on_its_file_system);
	RUN(the_same_place_is_seen_by_every_path);
	RUN(what_is_mounted_in_a_folder_is_found);
	RUN(without_mounts_nothing_is_known);
	return DONE();
}

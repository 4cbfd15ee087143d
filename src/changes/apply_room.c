/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_room.c - whether there is room for a list of changes, before the first
 */
#include "changes/apply_room.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "changes/apply_hold.h"
#include "changes/change_apply.h"
#include "changes/change_list.h"
#include "changes/change_set.h"

/* Smaller ones are taken to have no holes. */
#define HOLES_FROM (1u << 20)
/* What a file of one byte takes almost everywhere. */
#define BLOCK 4096

static uint64_t round_up(uint64_t bytes, uint64_t block)
{
	return (bytes + block - 1) / block * block;
}

/* The archive keeps holes, and so does what is written of it. */
static uint64_t data_of(const struct change_set *set,
			const struct set_entry *entry, uint64_t block)
{
	off_t end = (off_t)(entry->offset + entry->size), data, hole;
	uint64_t sum = 0;

	if (!S_ISREG(entry->mode))
		return block;
	if (entry->size < HOLES_FROM)
		return round_up(entry->size, block);
	for (off_t at = (off_t)entry->offset; at < end; at = hole) {
		data = lseek(set->fd, at, SEEK_DATA);
		if (data < 0 || data >= end)
			break;
		hole = lseek(set->fd, data, SEEK_HOLE);
		if (hole < 0 || hole > end)
			hole = end;
		sum += (uint64_t)(hole - data);
	}
	return round_up(sum, block);
}

static uint64_t freed_by(const struct change *change)
{
	return change->kind == CHANGE_MODIFIED && change->host.st_nlink == 1
		       ? (uint64_t)change->host.st_blocks * 512
		       : 0;
}

/* Of several names of a file one counts. */
static bool takes_room(const struct apply_setup *setup,
		       const struct change *change)
{
	return apply_wants(setup, change) && change->entry &&
	       !change->entry->further && change->kind != CHANGE_MODE &&
	       change->kind != CHANGE_ATTRIBUTES;
}

uint64_t apply_room_needed(const struct apply_setup *setup,
			   const struct change_list *list, uint64_t block)
{
	uint64_t peak = 0, taken = 0, freed = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct change *change = &list->changes[i];

		if (!takes_room(setup, change))
			continue;
		taken += data_of(setup->set, change->entry, block);
		if (taken > freed && taken - freed > peak)
			peak = taken - freed;
		freed += freed_by(change);
	}
	return peak;
}

void apply_room_growth(const struct apply_setup *setup,
		       const struct change_list *list, const bool *made,
		       struct apply_growth *growth)
{
	*growth = (struct apply_growth){ 0, 0 };
	for (size_t i = 0; i < list->count; i++) {
		const struct change *change = &list->changes[i];
		bool goes = change->host.st_nlink == 1 ||
			    S_ISDIR(change->host.st_mode);

		if (made ? !made[i] : !apply_wants(setup, change))
			continue;
		if (takes_room(setup, change))
			growth->bytes += (int64_t)data_of(setup->set,
							  change->entry, BLOCK);
		if (change->kind == CHANGE_MODIFIED ||
		    change->kind == CHANGE_DELETED)
			growth->bytes -=
				goes ? change->host.st_blocks * 512 : 0;
		growth->files += change->kind == CHANGE_NEW;
		growth->files -= change->kind == CHANGE_DELETED;
	}
}

uint64_t apply_room_of(const struct apply_setup *setup,
		       const struct change *change)
{
	struct statvfs vfs;
	uint64_t block = BLOCK;

	if (!takes_room(setup, change))
		return 0;
	if (fstatvfs(setup->root, &vfs) == 0 && vfs.f_frsize)
		block = vfs.f_frsize;
	return data_of(setup->set, change->entry, block);
}

/* One more than there will be: a file is written beside the old one. */
static uint64_t files_needed(const struct apply_setup *setup,
			     const struct change_list *list)
{
	uint64_t count = 0, made = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct change *change = &list->changes[i];

		count += takes_room(setup, change);
		made += takes_room(setup, change) && change->kind == CHANGE_NEW;
	}
	return made + (count > made);
}

static int check_files(const struct apply_setup *setup,
		       const struct change_list *list,
		       const struct statvfs *vfs, struct error *err)
{
	uint64_t there = geteuid() == 0 ? vfs->f_ffree : vfs->f_favail;
	uint64_t needed = files_needed(setup, list);

	/* some have no end of them, and say zero */
	if (!vfs->f_files || needed <= there)
		return 0;
	return error_say(err, ENOSPC,
			 "no room on the host's disk for %llu more files: "
			 "%llu are free; nothing was applied (make room, or "
			 "apply a part by its PATH)",
			 (unsigned long long)needed, (unsigned long long)there);
}

/* A quota shows only then. */
static int take_room(const struct apply_setup *setup, uint64_t needed,
		     struct error *err)
{
	struct error why = { 0 };

	if (!setup->hold ||
	    apply_hold_take(setup->hold, setup->root, needed, &why) == 0)
		return 0;
	return error_say(err, why.code,
			 "no room on the host's disk: %s; nothing was applied "
			 "(make room, or apply a part by its PATH)",
			 why.text);
}

int apply_room_check(const struct apply_setup *setup,
		     const struct change_list *list, struct error *err)
{
	struct statvfs vfs;
	uint64_t there, needed;

	/* some say nothing */
	if (fstatvfs(setup->root, &vfs) < 0 || !vfs.f_blocks || !vfs.f_frsize)
		return 0;
	there = (uint64_t)(geteuid() == 0 ? vfs.f_bfree : vfs.f_bavail) *
		vfs.f_frsize;
	needed = apply_room_needed(setup, list, vfs.f_frsize);
	if (needed <= there)
		return check_files(setup, list, &vfs, err) < 0
			       ? -1
			       : take_room(setup, needed, err);
	return error_say(err, ENOSPC,
			 "no room on the host's disk: %llu KiB are needed, "
			 "%llu KiB are free; nothing was applied (make room, "
			 "or apply a part by its PATH)",
			 (unsigned long long)(needed >> 10),
			 (unsigned long long)(there >> 10));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saving_internal.h - between saving.c, saving_disk.c and saving_write.c
 */
#pragma once

struct error;
struct sandbox;

/* The machine goes on as if nothing had been tried; clients are told. */
void saving_fail(struct sandbox *sandbox, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* saving_disk.c: QEMU opens the file for the disk; nothing is copied yet. */
void saving_disk_open(struct sandbox *sandbox);
/* A copy of the top layer as it is now, made beside the running
 * machine; saving_disk_begun() tells that what is written from then on is not
 * in it, saving_disk_done() follows. Nobody writes meanwhile. */
void saving_disk_begin(struct sandbox *sandbox);
void saving_disk_cancel(struct sandbox *sandbox);
void saving_disk_begun(struct sandbox *sandbox);
void saving_disk_done(struct sandbox *sandbox);

/* saving_write.c */
int saving_open_files(struct sandbox *sandbox, struct error *err);
void saving_close_files(struct sandbox *sandbox);
/* Everything of an unfinished one. */
void saving_remove_files(struct sandbox *sandbox);
/* Memory and devices are on the disk. */
int saving_sync(struct sandbox *sandbox, struct error *err);
/* There will be room for the manifest. */
int saving_reserve(struct sandbox *sandbox, struct error *err);
int saving_write_manifest(struct sandbox *sandbox, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_decode.h - request bytes of the guest become a typed request
 *
 * Pure. The guest's kernel is not trusted: every fixed part, name, list and
 * value must lie inside the message, and the message must end where they do.
 * Names are single components; no other text reaches a system call as a name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <linux/fuse.h>

#define FUSE_WRITE_MAX (1U << 20) /* bytes of data in one READ or WRITE */
#define FUSE_PAGES_MAX 256        /* the same in pages, as INIT says it */
#define FUSE_REQUEST_MAX (FUSE_WRITE_MAX + 4096)
#define FUSE_COMPONENT_MAX 255
#define FUSE_TARGET_MAX 4095
#define FUSE_XATTR_VALUE_MAX 65536

struct fuse_request {
	uint32_t opcode;
	uint64_t unique;
	uint64_t node;
	uint32_t pid; /* thread in the guest; 0: none in particular */
	union {
		struct fuse_init_in init;
		struct fuse_forget_in forget;
		struct fuse_batch_forget_in forgets; /* list in `data` */
		struct fuse_getattr_in getattr;
		struct fuse_setattr_in setattr;
		struct fuse_mknod_in mknod;
		struct fuse_mkdir_in mkdir;
		struct fuse_rename_in rename;
		struct fuse_rename2_in rename2;
		struct fuse_link_in link;
		struct fuse_open_in open;
		struct fuse_create_in create;
		struct fuse_read_in read;
		struct fuse_write_in write;
		struct fuse_release_in release;
		struct fuse_flush_in flush;
		struct fuse_fsync_in fsync;
		struct fuse_getxattr_in getxattr;
		struct fuse_setxattr_in setxattr; /* 8 bytes: no SETXATTR_EXT */
		struct fuse_access_in access;
		struct fuse_interrupt_in interrupt;
		struct fuse_fallocate_in fallocate;
		struct fuse_lseek_in lseek;
		struct fuse_copy_file_range_in copy;
		struct fuse_syncfs_in syncfs;
	} in;
	/* These point into the message; names end in NUL there. */
	const char *name;
	const char *name2; /* second name; target of SYMLINK */
	const uint8_t *data;
	size_t data_len;
	uint64_t promised; /* node of a CREATE that was answered; 0: none */
};

/*
 * 0, or an errno for the reply: ENOSYS for an opcode that we do not know,
 * EINVAL and ENAMETOOLONG for a bad body. EBADMSG: not even the header can be
 * believed (then `unique` cannot be either), the channel is to be given up.
 */
int fuse_decode(const void *bytes, size_t len, struct fuse_request *request);
/* The same for a WRITE whose data lies elsewhere; EBADMSG: it is none. */
int fuse_decode_write(const void *bytes, size_t len, const void *data,
		      size_t data_len, struct fuse_request *request);
/* "LOOKUP"; NULL when the opcode is not served. */
const char *fuse_opcode_name(uint32_t opcode);
/* 0, EINVAL or ENAMETOOLONG: not empty, no slash, not "." or "..". */
int fuse_check_component(const char *name);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h - requests and the functions that answer them
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "files/fuse_decode.h"
#include "files/fuse_reply.h"
#include "files/node_table.h"
#include "files/policy.h"
#include "files/server.h"
#include "files/share.h"

struct op {
	struct server *server;
	struct share *share;
	unsigned share_index;
	const struct fuse_request *request;
	struct node *node; /* of the request's header; NULL for OP_NO_NODE */
	struct reply *reply;
};

#define OP_LATER 1 /* somebody else answers */

/* 0, with the body in op->reply, or a negative errno; or OP_LATER. */
typedef int op_fn(struct op *op);

/* One message. -1: it is none, the channel is to be given up. */
int ops_serve(struct server *server, unsigned share, const void *bytes,
	      size_t len);
/* A WRITE whose data lies elsewhere. */
int ops_serve_write(struct server *server, unsigned share, const void *bytes,
		    size_t len, const void *data, size_t data_len);

/* A CREATE that the guest's kernel takes for done. */
int ops_serve_make(struct server *server, unsigned share, const void *bytes,
		   size_t len);

op_fn op_init, op_destroy, op_statfs, op_syncfs, op_unsupported, op_nothing;
op_fn op_forget, op_batch_forget;
op_fn op_lookup, op_readlink;
/* The notifier's: LOOKUP, and whatever changes something. */
op_fn op_ticket_lookup, op_ticket_change;
op_fn op_getattr, op_setattr;
op_fn op_mknod, op_mkdir, op_symlink, op_create, op_link;
op_fn op_unlink, op_rmdir, op_rename, op_rename2;
op_fn op_read, op_write, op_fsync, op_fallocate, op_lseek, op_copy;
op_fn op_readdir, op_readdirplus;
op_fn op_setxattr, op_getxattr, op_listxattr, op_removexattr;

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_decode.c - request bytes of the guest become a typed request
 */
#include "files/fuse_decode.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "proto/cursor.h"

/* What follows the fixed part. */
enum tail {
	TAIL_NONE,
	TAIL_NAME,
	TAIL_TWO_NAMES,
	TAIL_NAME_TARGET,
	TAIL_XATTR_NAME,
	TAIL_XATTR_VALUE,
	TAIL_DATA,
	TAIL_FORGETS,
	TAIL_NEWER, /* a newer kernel may say more than we know */
};

struct shape {
	const char *name;
	size_t fixed;
	enum tail tail;
};

#define SETXATTR_SHORT                                                     \
	8             /* struct fuse_setxattr_in without FUSE_SETXATTR_EXT \
		       */
#define INIT_SHORT 16 /* struct fuse_init_in before 7.36 */

static const struct shape shapes[] = {
	[FUSE_LOOKUP] = { "LOOKUP", 0, TAIL_NAME },
	[FUSE_FORGET] = { "FORGET", sizeof(struct fuse_forget_in), TAIL_NONE },
	[FUSE_GETATTR] = { "GETATTR", sizeof(struct fuse_getattr_in),
			   TAIL_NONE },
	[FUSE_SETATTR] = { "SETATTR", sizeof(struct fuse_setattr_in),
			   TAIL_NONE },
	[FUSE_READLINK] = { "READLINK", 0, TAIL_NONE },
	[FUSE_SYMLINK] = { "SYMLINK", 0, TAIL_NAME_TARGET },
	[FUSE_MKNOD] = { "MKNOD", sizeof(struct fuse_mknod_in), TAIL_NAME },
	[FUSE_MKDIR] = { "MKDIR", sizeof(struct fuse_mkdir_in), TAIL_NAME },
	[FUSE_UNLINK] = { "UNLINK", 0, TAIL_NAME },
	[FUSE_RMDIR] = { "RMDIR", 0, TAIL_NAME },
	[FUSE_RENAME] = { "RENAME", sizeof(struct fuse_rename_in),
			  TAIL_TWO_NAMES },
	[FUSE_LINK] = { "LINK", sizeof(struct fuse_link_in), TAIL_NAME },
	[FUSE_OPEN] = { "OPEN", sizeof(struct fuse_open_in), TAIL_NONE },
	[FUSE_READ] = { "READ", sizeof(struct fuse_read_in), TAIL_NONE },
	[FUSE_WRITE] = { "WRITE", sizeof(struct fuse_write_in), TAIL_DATA },
	[FUSE_STATFS] = { "STATFS", 0, TAIL_NONE },
	[FUSE_RELEASE] = { "RELEASE", sizeof(struct fuse_release_in),
			   TAIL_NONE },
	[FUSE_FSYNC] = { "FSYNC", sizeof(struct fuse_fsync_in), TAIL_NONE },
	[FUSE_SETXATTR] = { "SETXATTR", SETXATTR_SHORT, TAIL_XATTR_VALUE },
	[FUSE_GETXATTR] = { "GETXATTR", sizeof(struct fuse_getxattr_in),
			    TAIL_XATTR_NAME },
	[FUSE_LISTXATTR] = { "LISTXATTR", sizeof(struct fuse_getxattr_in),
			     TAIL_NONE },
	[FUSE_REMOVEXATTR] = { "REMOVEXATTR", 0, TAIL_XATTR_NAME },
	[FUSE_FLUSH] = { "FLUSH", sizeof(struct fuse_flush_in), TAIL_NONE },
	[FUSE_INIT] = { "INIT", INIT_SHORT, TAIL_NEWER },
	[FUSE_OPENDIR] = { "OPENDIR", sizeof(struct fuse_open_in), TAIL_NONE },
	[FUSE_READDIR] = { "READDIR", sizeof(struct fuse_read_in), TAIL_NONE },
	[FUSE_RELEASEDIR] = { "RELEASEDIR", sizeof(struct fuse_release_in),
			      TAIL_NONE },
	[FUSE_FSYNCDIR] = { "FSYNCDIR", sizeof(struct fuse_fsync_in),
			    TAIL_NONE },
	[FUSE_ACCESS] = { "ACCESS", sizeof(struct fuse_access_in), TAIL_NONE },
	[FUSE_CREATE] = { "CREATE", sizeof(struct fuse_create_in), TAIL_NAME },
	[FUSE_INTERRUPT] = { "INTERRUPT", sizeof(struct fuse_interrupt_in),
			     TAIL_NONE },
	[FUSE_DESTROY] = { "DESTROY", 0, TAIL_NONE },
	[FUSE_BATCH_FORGET] = { "BATCH_FORGET",
				sizeof(struct fuse_batch_forget_in),
				TAIL_FORGETS },
	[FUSE_FALLOCATE] = { "FALLOCATE", sizeof(struct fuse_fallocate_in),
			     TAIL_NONE },
	[FUSE_READDIRPLUS] = { "READDIRPLUS", sizeof(struct fuse_read_in),
			       TAIL_NONE },
	[FUSE_RENAME2] = { "RENAME2", sizeof(struct fuse_rename2_in),
			   TAIL_TWO_NAMES },
	[FUSE_LSEEK] = { "LSEEK", sizeof(struct fuse_lseek_in), TAIL_NONE },
	[FUSE_COPY_FILE_RANGE] = { "COPY_FILE_RANGE",
				   sizeof(struct fuse_copy_file_range_in),
				   TAIL_NONE },
	[FUSE_SYNCFS] = { "SYNCFS", sizeof(struct fuse_syncfs_in), TAIL_NONE },
};

static const struct shape *shape_of(uint32_t opcode)
{
	if (opcode >= ARRAY_SIZE(shapes) || !shapes[opcode].name)
		return NULL;
	return &shapes[opcode];
}

const char *fuse_opcode_name(uint32_t opcode)
{
	const struct shape *shape = shape_of(opcode);

	return shape ? shape->name : NULL;
}

int fuse_check_component(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || strchr(name, '/') || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return EINVAL;
	return len > FUSE_COMPONENT_MAX ? ENAMETOOLONG : 0;
}

static int read_component(struct cursor *c, const char **name)
{
	*name = cursor_str(c);
	return *name ? fuse_check_component(*name) : EINVAL;
}

/* A text that is no path component: 1 to max bytes. */
static int read_text(struct cursor *c, size_t max, const char **text)
{
	*text = cursor_str(c);
	if (!*text || !**text)
		return EINVAL;
	return strlen(*text) > max ? ENAMETOOLONG : 0;
}

static int read_data(struct cursor *c, size_t claimed_len, size_t max,
		     struct fuse_request *request)
{
	if (claimed_len > max || claimed_len != cursor_left(c))
		return EINVAL;
	request->data = cursor_bytes(c, claimed_len);
	request->data_len = claimed_len;
	return request->data ? 0 : EINVAL;
}

static int read_forgets(struct cursor *c, struct fuse_request *request)
{
	uint64_t claimed_len = (uint64_t)request->in.forgets.count *
			       sizeof(struct fuse_forget_one);

	return read_data(c, claimed_len, FUSE_REQUEST_MAX, request);
}

static int read_tail(struct cursor *c, enum tail tail,
		     struct fuse_request *request)
{
	int bad;

	switch (tail) {
	case TAIL_NONE:
		return 0;
	case TAIL_NAME:
		return read_component(c, &request->name);
	case TAIL_TWO_NAMES:
		bad = read_component(c, &request->name);
		return bad ? bad : read_component(c, &request->name2);
	case TAIL_NAME_TARGET:
		bad = read_component(c, &request->name);
		return bad ? bad
			   : read_text(c, FUSE_TARGET_MAX, &request->name2);
	case TAIL_XATTR_NAME:
		return read_text(c, FUSE_COMPONENT_MAX, &request->name);
	case TAIL_XATTR_VALUE:
		bad = read_text(c, FUSE_COMPONENT_MAX, &request->name);
		return bad ? bad
			   : read_data(c, request->in.setxattr.size,
				       FUSE_XATTR_VALUE_MAX, request);
	case TAIL_DATA:
		return read_data(c, request->in.write.size, FUSE_WRITE_MAX,
				 request);
	case TAIL_FORGETS:
		return read_forgets(c, request);
	case TAIL_NEWER:
		cursor_bytes(c, cursor_left(c));
		return 0;
	}
	return EINVAL;
}

static void take_header(const struct fuse_in_header *head,
			struct fuse_request *request)
{
	request->opcode = head->opcode;
	request->unique = head->unique;
	request->node = head->nodeid;
	request->pid = head->pid;
}

int fuse_decode_write(const void *bytes, size_t len, const void *data,
		      size_t data_len, struct fuse_request *request)
{
	struct cursor c = cursor_over(bytes, len);
	const void *head_bytes =
		cursor_bytes(&c, sizeof(struct fuse_in_header));
	const void *in_bytes = cursor_bytes(&c, sizeof(struct fuse_write_in));
	struct fuse_in_header head;

	memset(request, 0, sizeof(*request));
	if (!cursor_done(&c))
		return EBADMSG;
	memcpy(&head, head_bytes, sizeof(head));
	if (head.opcode != FUSE_WRITE || data_len > FUSE_WRITE_MAX ||
	    head.len != len + data_len)
		return EBADMSG;
	take_header(&head, request);
	memcpy(&request->in.write, in_bytes, sizeof(request->in.write));
	if (head.total_extlen || request->in.write.size != data_len)
		return EINVAL;
	request->data = data;
	request->data_len = data_len;
	return 0;
}

int fuse_decode(const void *bytes, size_t len, struct fuse_request *request)
{
	struct cursor c = cursor_over(bytes, len);
	const struct shape *shape;
	struct fuse_in_header head;
	const void *part;
	int bad;

	memset(request, 0, sizeof(*request));
	part = cursor_bytes(&c, sizeof(head));
	if (!part)
		return EBADMSG;
	memcpy(&head, part, sizeof(head));
	if (head.len != len || len > FUSE_REQUEST_MAX)
		return EBADMSG;
	take_header(&head, request);
	shape = shape_of(head.opcode);
	if (!shape)
		return ENOSYS;
	/* Extensions were not negotiated. */
	if (head.total_extlen)
		return EINVAL;
	part = cursor_bytes(&c, shape->fixed);
	if (!part)
		return EINVAL;
	memcpy(&request->in, part, shape->fixed);
	bad = read_tail(&c, shape->tail, request);
	if (bad)
		return bad;
	return cursor_done(&c) ? 0 : EINVAL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_attributes.c - the extended attributes of a file
 */
#include "changes/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "lib/tap.h"

static char top[] = "/tmp/attributes-XXXXXX";
static struct error err;
static int root;

static void of(struct attributes *attributes, struct tar_xattr *items,
	       size_t count)
{
	struct tar_entry entry = { .path = "f",
				   .xattrs = items,
				   .xattr_count = count };

	CHECK(attributes_copy(attributes, &entry, &err) == 0);
}

static void the_order_does_not_count_and_all_else_does(void)
{
	struct tar_xattr ab[] = { { "user.a", "1", 1 }, { "user.b", "", 0 } };
	struct tar_xattr ba[] = { { "user.b", "", 0 }, { "user.a", "1", 1 } };
	struct tar_xattr other[] = { { "user.a", "2", 1 },
				     { "user.b", "", 0 } };
	struct tar_xattr moved[] = { { "user.a", "", 0 },
				     { "user.b", "1", 1 } };
	AUTO_ATTRIBUTES struct attributes a, b, c, d, none = { NULL, 0 };

	of(&a, ab, 2);
	of(&b, ba, 2);
	of(&c, other, 2);
	of(&d, moved, 2);
	CHECK(attributes_same(&a, &b) &&
	      attributes_hash(&a) == attributes_hash(&b));
	CHECK(!attributes_same(&a, &c) &&
	      attributes_hash(&a) != attributes_hash(&c));
	CHECK(!attributes_same(&a, &d) &&
	      attributes_hash(&a) != attributes_hash(&d));
	CHECK(!attributes_same(&a, &none) && attributes_hash(&none) == 0 &&
	      attributes_hash(&a) != 0);
	CHECK(attributes_size(&a) > 14 && attributes_size(&none) == 0);
}

static void a_name_may_come_once(void)
{
	struct tar_xattr twice[] = { { "user.a", "1", 1 },
				     { "user.b", "", 0 },
				     { "user.a", "2", 1 } };
	struct tar_entry entry = { .path = "f",
				   .xattrs = twice,
				   .xattr_count = 3 };
	struct attributes attributes;

	CHECK(attributes_copy(&attributes, &entry, &err) < 0);
	CHECK(!attributes.items);
}

static bool has(const char *name, const char *value)
{
	AUTO_ATTRIBUTES struct attributes now = { NULL, 0 };
	const struct tar_xattr *one;

	attributes_read(&now, root, "f");
	one = attributes_find(&now, name);
	return value ? one && one->len == strlen(value) &&
			       !memcmp(one->value, value, one->len)
		     : !one;
}

static void they_are_read_and_set_all_or_none(void)
{
	struct tar_xattr items[] = { { "user.a", "1", 1 },
				     { "user.c", "3", 1 } };
	struct tar_xattr bad[] = { { "user.a", "9", 1 },
				   { "wrong.name", "", 0 } };
	AUTO_ATTRIBUTES struct attributes wanted, refused, now = { NULL, 0 };
	int fd;

	CHECK(fileio_replace(root, "f", "", 0, 0644, 0, &err) == 0);
	fd = openat(root, "f", O_RDWR | O_CLOEXEC);
	of(&wanted, items, 2);
	of(&refused, bad, 2);
	CHECK(fsetxattr(fd, "user.b", "2", 1, 0) == 0);
	CHECK(fsetxattr(fd, "user.a", "0", 1, 0) == 0);
	CHECK(fsetxattr(fd, "user.d=e", "4", 1, 0) == 0);
	attributes_read(&now, root, "f");
	CHECK(now.count == 3);
	CHECK(attributes_set(fd, &now, &refused) < 0 && errno);
	CHECK(has("user.a", "0") && has("user.b", "2"));
	CHECK(attributes_set(fd, &now, &wanted) == 0);
	CHECK(has("user.a", "1") && has("user.b", NULL) && has("user.c", "3"));
	CHECK(has("user.d=e", NULL));
	close(fd);
}

static void a_link_leads_to_none(void)
{
	AUTO_ATTRIBUTES struct attributes now = { NULL, 0 };

	CHECK(symlinkat("f", root, "l") == 0);
	attributes_read(&now, root, "l");
	CHECK(now.count == 0);
	attributes_read(&now, root, "missing");
	CHECK(now.count == 0);
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RUN(the_order_does_not_count_and_all_else_does);
	RUN(a_name_may_come_once);
	if (fsetxattr(root, "user.a", "", 0, 0) == 0) {
		RUN(they_are_read_and_set_all_or_none);
		RUN(a_link_leads_to_none);
	}
	close(root);
	fileio_remove_tree(AT_FDCWD, top, &err);
	return DONE();
}

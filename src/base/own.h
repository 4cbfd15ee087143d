/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.h - ownership at the declaration
 *
 * A local that owns is marked where it is declared and released when it goes
 * out of scope. TAKE_FD and TAKE_PTR hand it over.
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

static inline void own_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void own_free(void *p)
{
	free(*(void **)p);
}

static inline int own_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define AUTO_CLOSE __attribute__((cleanup(own_close)))
#define AUTO_FREE __attribute__((cleanup(own_free)))
#define TAKE_FD(fd) own_take_fd(&(fd))
#define TAKE_PTR(p)                         \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

/*
 * AUTO(name) marks a pointer released by `name`_auto, which a module defines
 * next to its type with AUTO_DEFINE(policy, struct policy *, policy_free).
 */
#define AUTO(name) __attribute__((cleanup(name##_auto)))
#define AUTO_DEFINE(name, type, release)                                   \
	/* NOLINTNEXTLINE(bugprone-macro-parentheses): type is no value */ \
	static inline void name##_auto(type *p)                            \
	{                                                                  \
		if (*p)                                                    \
			release(*p);                                       \
	}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

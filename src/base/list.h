/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - intrusive doubly linked list; a node is embedded in its owner
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"

struct list {
	struct list *prev, *next;
};

#define LIST_INIT(name)          \
	{                        \
		&(name), &(name) \
	}

static inline void list_init(struct list *list)
{
	list->prev = list->next = list;
}

static inline bool list_empty(const struct list *list)
{
	return list->next == list;
}

static inline void list_append(struct list *list, struct list *node)
{
	node->prev = list->prev;
	node->next = list;
	list->prev->next = node;
	list->prev = node;
}

/* The node is left empty, so that removing it twice is harmless. */
static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#define LIST_ENTRY(node, type, member) CONTAINER_OF(node, type, member)

/* The body may remove the current node, and no other. */
#define LIST_FOR_EACH(node, head)                                         \
	for (struct list *node = (head)->next, *node##_next = node->next; \
	     node != (head); node = node##_next, node##_next = node->next)

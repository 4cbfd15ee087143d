/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_order.h - orders for bawn-registry: where to go, and as whom
 */
#pragma once

#include <stdbool.h>

struct error;
struct image;
struct reference;

struct registry_order {
	const struct reference *reference;
	const struct image *push; /* NULL: it is to be fetched */
	bool hurry; /* give up soon: there is something else to take */
};

/*
 * A file in memory that holds the order, with mirrors from the file
 * config/registries and the logins of each place; -1.
 */
int registry_order_open(const struct registry_order *order, struct error *err);

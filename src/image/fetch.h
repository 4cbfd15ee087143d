/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - an image of a registry: its documents, then its layers
 */
#pragma once

struct error;
struct order;
struct registry;

/* One registry for each place of the order, made before the confinement. */
int fetch_image(const struct order *order, struct registry **registries,
		struct error *err);

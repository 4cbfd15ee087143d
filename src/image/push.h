/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.h - an image to a registry: what it lacks, then the manifest
 */
#pragma once

struct error;
struct order;
struct registry;

int push_image(const struct order *order, struct registry *registry,
	       struct error *err);

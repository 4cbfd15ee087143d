/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_bases.h - local templates that a Dockerfile builds on, in the builder
 */
#pragma once

struct builder;
struct dockerfile_bases;
struct error;

/*
 * What is a template here is given to the builder's engine as an image of that
 * name, once for each content; the rest is for the engine to fetch.
 */
int build_bases_bring(struct builder *builder,
		      const struct dockerfile_bases *bases, struct error *err);

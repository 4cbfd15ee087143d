/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_links.h - names of one file that stay names of one file
 *
 * A name that is written becomes a link to another name of the guest's file,
 * if the host has that one already as the guest has it: because it was written
 * before, or because nobody changed it. Else it is a file of its own, which
 * further names lead to.
 */
#pragma once

struct apply_links;
struct apply_setup;
struct set_entry;
struct tree_writer;

/* setup is borrowed. */
struct apply_links *apply_links_new(const struct apply_setup *setup,
				    struct tree_writer *writer);
void apply_links_free(struct apply_links *links);

/* A path that the writer makes a link to, or NULL. */
const char *apply_links_find(struct apply_links *links,
			     const struct set_entry *entry);
/* The writer made it: from now on it is what others become a link to. */
void apply_links_made(struct apply_links *links, const struct set_entry *entry);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save.h - an image into an archive: an OCI layout that is also what `docker
 * load` reads
 */
#pragma once

struct error;

/*
 * The order is on descriptor 0 ("name" and "image"), the archive goes to
 * descriptor 1, parts come from the starter. The order is read first, by
 * save_read_order(), since it is our own.
 */
struct save;
struct save *save_read_order(struct error *err);
int save_write(struct save *save, struct error *err);
void save_free(struct save *save);

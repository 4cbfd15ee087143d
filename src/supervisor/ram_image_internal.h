/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_image_internal.h - between ram_image.c and ram_write.c
 */
#pragma once

#include <sys/uio.h>

#include "supervisor/ram_image.h"
#include "supervisor/ram_scan.h"

#define RAM_PIECE_BYTES (RAM_SCAN_PAGES * RAM_PAGE) /* copied at once */

/* From QEMU; all bytes or -1. */
int ram_image_read(const struct ram_image *image, const struct iovec *local,
		   const struct iovec *remote, int count, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review_internal.h - between review.c and review_file.c
 */
#pragma once

#include "cli/review.h"

/* Owned descriptors; -1 with errno when there is no shadow. */
int review_open_shadow(const struct review *review, size_t share);
int review_open_host(const struct review *review, size_t share,
		     struct error *err);

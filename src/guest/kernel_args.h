/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_args.h - words of the kernel command line that are meant for us
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct kernel_args {
	bool prime; /* bawn.prime: a warm image is being made of this boot */
	bool debug; /* bawn.debug: talk on the console */
};

/* Pure. Unknown words belong to others. */
struct kernel_args kernel_args_parse(const char *text, size_t len);

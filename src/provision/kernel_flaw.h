/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_flaw.h - kernels of the distribution that are known to crash
 */
#pragma once

#include <stddef.h>

/*
 * What is known against a kernel of this version ("6.1.192-1", or upstream's
 * number alone), as words that follow its name: "crashes in …". NULL: nothing.
 * Static.
 */
const char *kernel_flaw(const char *version);
/*
 * Which package to take where newest is the one that the distribution would.
 * text is what apt has of its series and flavour, see debian_package_list().
 * name becomes newest, or, if that has a flaw, the newest of the older ones
 * that has none, if there is one. Returns newest's flaw. Pure.
 */
const char *kernel_flaw_avoid(const char *text, const char *newest, char *name,
			      size_t size);

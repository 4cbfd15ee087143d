/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vendor.h - runs a vendor's installer in a sandbox, for a template
 */
#pragma once

struct error;
struct template_build;

/* template_vendor_fn. */
int vendor_install(const struct template_build *build, int tar_fd,
		   struct error *err);

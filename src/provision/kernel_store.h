/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_store.h - cache/kernels: what lies there, and how it gets there
 */
#pragma once

struct error;
struct kernel;
struct kernel_raw;

/*
 * Fills kernel (but for its initramfs) from KEY's folder. ENOENT when it is not
 * there, was made for another list of modules, or its file is not the one
 * that was written.
 */
int kernel_store_load(int store_fd, const char *key, struct kernel *kernel,
		      struct error *err);
/*
 * Unpacks and copies what the guest needs into a folder "out" beneath temp_fd,
 * then moves it into the store. key is malloc'd. The caller holds the lock.
 */
int kernel_store_add(int store_fd, int temp_fd, const struct kernel_raw *raw,
		     char **key, struct error *err);

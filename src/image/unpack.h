/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h - single compressed files: kernels, kernel modules, archives
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

#define UNPACK_INPUT_MAX (256u << 20)
#define UNPACK_OUTPUT_MAX (512ull << 20)

/*
 * Both read all of in and write to out (descriptors, borrowed). What is not
 * compressed is copied. Output beyond UNPACK_OUTPUT_MAX is an error.
 */
int unpack_file(int in, int out, struct error *err);
/* The same for a file of any size, as it comes; more than limit is an error. */
int unpack_stream(int in, int out, uint64_t limit, struct error *err);
/* A bzImage becomes the ELF file in it; an arm64 Image stays what it is. */
int unpack_kernel(int in, int out, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h - single compressed files: kernels and kernel modules
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
/* A bzImage becomes the ELF file in it; an arm64 Image stays what it is. */
int unpack_kernel(int in, int out, struct error *err);

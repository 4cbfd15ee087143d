/* SPDX-License-Identifier: Apache-2.0 */
/*
 * word_copy.h - memcpy() for an emulated CPU
 *
 * To an emulator a vector is two or four words that it moves one by one, with a
 * stop in memory of its own between, and an instruction that repeats is a loop.
 * Plain words take half the time of either.
 */
#pragma once

#include <stddef.h>

void word_copy(void *to, const void *from, size_t len);

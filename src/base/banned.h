/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned.h - forbidden libc calls become compile errors
 *
 * Included on the command line before every file of ours (-include), after
 * the headers that declare what it forbids.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANNED(call) use_text_h_or_child_h_instead_of_##call

#undef strcpy
#define strcpy(dst, src) BANNED(strcpy)
#undef strcat
#define strcat(dst, src) BANNED(strcat)
#undef strncpy
#define strncpy(dst, src, n) BANNED(strncpy)
#undef strncat
#define strncat(dst, src, n) BANNED(strncat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef strtok
#define strtok(text, separators) BANNED(strtok)
#undef atoi
#define atoi(text) BANNED(atoi)
#undef system
#define system(command) BANNED(system)
#undef popen
#define popen(command, mode) BANNED(popen)
#undef alloca
#define alloca(size) BANNED(alloca)

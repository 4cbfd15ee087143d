/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned.h - forbidden libc calls become compile errors
 *
 * Included on the command line for every file of ours (-include).
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef strcpy
#undef strcat
#undef sprintf
#undef vsprintf
#undef strtok
#undef strncpy
#undef strncat
#undef gets
#undef alloca
#pragma GCC poison strcpy strcat sprintf vsprintf strtok strncpy strncat
#pragma GCC poison gets alloca atoi atol system popen mktemp tmpnam

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_cpu.h - what /proc/cpuinfo says
 */
#pragma once

#include <stdbool.h>

/* "Intel(R) Xeon(R) …"; malloc'd, "" when unknown. */
char *host_cpu_model(void);
/* The flags show vmx or svm. */
bool host_cpu_can_virtualise(void);

/*
 * Frequency of the time stamp counter, measured in some milliseconds, once;
 * 0 when it is not one to rely on.
 */
unsigned host_cpu_tsc_khz(void);

/* Pure: the value of the first line that begins with key; malloc'd or NULL. */
char *host_cpu_value(const char *text, const char *key);
/* Pure: is word among the words of text. */
bool host_cpu_has_word(const char *text, const char *word);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots_map.h - the memory in which the host puts large DATA (proto/slots.h)
 */
#pragma once

#include <stdint.h>

/* SLOTS_BYTES of it, for as long as the process lives; NULL: there is none. */
const uint8_t *slots_map(void);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_ticket.c - operations that raise events, on the notifier's thread
 */
#include "guest/relay_internal.h"

void relay_ticket(const struct relay *relay, unsigned share,
		  const uint8_t *bytes, size_t len)
{
}

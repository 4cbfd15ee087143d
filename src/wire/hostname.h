/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostname.h - one spelling for each host name
 *
 * Names are compared by bytes, so every name that a guest, a rule or a server
 * gives goes through here first. What another program could take for an
 * address (octal, hexadecimal or short IPv4) is never a name. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HOSTNAME_MAX 253 /* bytes, without the trailing dot */
#define HOSTNAME_LABEL_MAX 63

/*
 * Lower case, one trailing dot dropped. Labels are of [a-z0-9_-], 1 to 63
 * bytes, with no hyphen at either end; A-labels stay as they are. Refused: NUL,
 * control and non-ASCII bytes, `%`, spaces, brackets, empty labels, and a last
 * label that is a number (decimal or 0x...), since inet_aton() would take it.
 * Returns the length, at least 1, and ends out with NUL; or -1, and out is "".
 */
int hostname_canonical(const char *bytes, size_t len,
		       char out[HOSTNAME_MAX + 1]);

/*
 * A canonical name that no public name server knows: a single label, or one
 * below a special-use domain (.local, .localhost, .internal, .invalid, .onion,
 * .alt, .arpa). The two names of this gate, host.docker.internal and
 * gateway.docker.internal, are not special. Neither are .test and .example:
 * people have such names in their hosts file.
 */
bool hostname_is_special(const char *name);

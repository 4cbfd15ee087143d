/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apt_sources.h - which of the host's package sources a template may use
 *
 * Only the release's own archives: entries of suite CODENAME, CODENAME-updates
 * and CODENAME-security that have the component "main". What third parties
 * added to the host stays there.
 */
#pragma once

struct buffer;
struct error;

enum apt_sources_style {
	APT_SOURCES_LIST,   /* one line for each entry */
	APT_SOURCES_DEB822, /* paragraphs, *.sources */
};

/* Pure. Appends "deb [signed-by=…] URI SUITE COMPONENTS" lines to out. */
int apt_sources_select(const char *text, enum apt_sources_style style,
		       const char *codename, struct buffer *out,
		       struct error *err);
/*
 * All of /etc/apt; out stays empty when nothing fits (another distribution):
 * then mmdebstrap's default applies. codename (size bytes) is the host's, or
 * "bookworm" when the host is no Debian.
 */
int apt_sources_of_host(struct buffer *out, char *codename, unsigned size,
			struct error *err);

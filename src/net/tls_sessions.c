/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_sessions.c - TLS sessions with servers, for who connects again soon
 */
#include "net/tls_sessions.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"

struct entry {
	struct list link;
	char key[AUTHORITY_TEXT_SIZE];
	SSL_SESSION *session; /* owned */
	uint64_t proved_ms;
};

static struct entry *entry_of(struct list *node)
{
	return LIST_ENTRY(node, struct entry, link);
}

static void drop(struct tls_sessions *self, struct entry *entry)
{
	list_remove(&entry->link);
	self->count--;
	SSL_SESSION_free(entry->session);
	free(entry);
}

void tls_sessions_init(struct tls_sessions *sessions)
{
	sessions->count = 0;
	list_init(&sessions->all);
}

void tls_sessions_clear(struct tls_sessions *sessions)
{
	while (sessions->count)
		drop(sessions, entry_of(sessions->all.next));
}

/* The oldest of one server makes room for its newest. */
static void make_room(struct tls_sessions *self, const char *key)
{
	struct entry *oldest = NULL;
	size_t same = 0;

	LIST_FOR_EACH(node, &self->all) {
		struct entry *entry = entry_of(node);

		if (strcmp(entry->key, key) != 0)
			continue;
		if (!same++)
			oldest = entry;
	}
	if (same >= TLS_SESSIONS_EACH)
		drop(self, oldest);
	else if (self->count >= TLS_SESSIONS_MAX)
		drop(self, entry_of(self->all.next));
}

void tls_sessions_keep(struct tls_sessions *sessions,
		       const struct authority *peer, SSL_SESSION *session,
		       uint64_t proved_ms)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));

	authority_format(peer, entry->key);
	make_room(sessions, entry->key);
	entry->session = session;
	entry->proved_ms = proved_ms;
	list_append(&sessions->all, &entry->link);
	sessions->count++;
}

static struct entry *find_newest(const struct tls_sessions *self,
				 const char *key)
{
	for (struct list *node = self->all.prev; node != &self->all;
	     node = node->prev) {
		if (strcmp(entry_of(node)->key, key) == 0)
			return entry_of(node);
	}
	return NULL;
}

SSL_SESSION *tls_sessions_take(struct tls_sessions *sessions,
			       const struct authority *peer, uint64_t now_ms,
			       uint64_t *proved_ms)
{
	struct entry *entry;
	SSL_SESSION *session;
	char key[AUTHORITY_TEXT_SIZE];

	LIST_FOR_EACH(node, &sessions->all) {
		if (now_ms - entry_of(node)->proved_ms >= TLS_SESSIONS_MS)
			drop(sessions, entry_of(node));
	}
	authority_format(peer, key);
	entry = find_newest(sessions, key);
	if (!entry)
		return NULL;
	*proved_ms = entry->proved_ms;
	session = entry->session;
	SSL_SESSION_up_ref(session);
	if (SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION)
		drop(sessions, entry);
	return session;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renew.c - the host renews logins by itself: who does so, and who waits
 */
#include "net/renew_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "net/bindings.h"
#include "net/decision.h"
#include "net/gate.h"
#include "net/keys.h"
#include "net/logins.h"
#include "net/renew_talk.h"
#include "net/target.h"
#include "policy/policy.h"

/* Nobody waits longer, whoever renews; then another may. */
#define PATIENCE_MS 20000
/* A token that ends so soon is not put in; one that ends later is renewed
 * beside what goes on. */
#define ENDS_S 10
#define SOON_S 300
/* Between two tries of the host's own. */
#define PAUSE_MS 5000
#define PAUSE_SOON_MS 60000
/* Each makes the pause twice as long. */
#define FAILURES_MAX 5

const struct login *renew_login(const struct gate *gate, const char *name)
{
	const struct bindings *list = gate->bindings;

	for (size_t i = 0; list && i < list->login_count; i++) {
		if (strcmp(list->logins[i].name, name) == 0)
			return &list->logins[i];
	}
	return NULL;
}

static bool ends_within(const struct login *login, int64_t seconds)
{
	return login->expires &&
	       (int64_t)time(NULL) + seconds >= login->expires;
}

static bool has_access(const struct login *login, const struct secret *value)
{
	const struct login_token *access = login_token(login, LOGIN_ACCESS);

	return access && value &&
	       strcmp(secret_text(access->value), secret_text(value)) == 0;
}

static struct secret *copy_access(const struct login *login)
{
	const struct login_token *access =
		login ? login_token(login, LOGIN_ACCESS) : NULL;

	return access ? secret_new(secret_text(access->value),
				   secret_len(access->value), NULL)
		      : NULL;
}

/* May the host try now? What is there since may be another login. */
static bool may_try(const struct renewal *self, const struct login *login,
		    uint64_t pause_ms)
{
	pause_ms <<=
		self->failures < FAILURES_MAX ? self->failures : FAILURES_MAX;
	return !self->tried_ms || !has_access(login, self->left) ||
	       loop_now_ms() - self->tried_ms >= pause_ms;
}

static void wake(struct renewal *self)
{
	timer_start(self->all->gate->loop, &self->wake, 0);
}

void renew_finish(struct renewal *self)
{
	timer_stop(&self->patience);
	renew_talk_cancel(TAKE_PTR(self->talk));
	target_release(&self->target);
	decision_release(&self->decision);
	secret_free(TAKE_PTR(self->stale));
	if (self->state == RENEWAL_TALKS) {
		secret_free(self->left);
		self->left =
			copy_access(renew_login(self->all->gate, self->name));
	}
	self->state = RENEWAL_NONE;
	self->host = false;
	while (!list_empty(&self->waiting)) {
		struct list *node = self->waiting.next;

		list_remove(node);
		list_append(&self->ready, node);
	}
	wake(self);
}

void renew_give_up(struct renewal *self, bool refused)
{
	keys_end_renewal(&self->all->gate->keys, self->name, refused);
	renew_finish(self);
}

static struct renew_waiter *first_of(struct list *list)
{
	return list_empty(list)
		       ? NULL
		       : LIST_ENTRY(list->next, struct renew_waiter, link);
}

static void on_patience(struct timer *timer)
{
	struct renewal *self = CONTAINER_OF(timer, struct renewal, patience);
	struct renew_waiter *first = first_of(&self->renewing);
	const struct renew_answer late = {
		.problem = "there was no answer in time"
	};

	/* The guest's own may go on; nobody waits for it any more. */
	if (self->state != RENEWAL_TALKS && first) {
		list_remove(&first->link);
		if (self->state == RENEWAL_ASKED)
			list_append(&self->ready, &first->link);
		else
			first->renewal = NULL;
	}
	if (self->state == RENEWAL_TALKS)
		renew_fail(self, &late, false);
	else
		renew_give_up(self, false);
}

/* Somebody wants to, and nobody does. */
static void go_on(struct renewal *self)
{
	struct gate *gate = self->all->gate;

	if (self->state != RENEWAL_NONE ||
	    (!self->host && list_empty(&self->renewing)))
		return;
	self->state = RENEWAL_ASKED;
	timer_start(gate->loop, &self->patience,
		    keys_ask_renewal(&gate->keys, self->name) < 0
			    ? 0
			    : PATIENCE_MS);
}

static struct renewal *find(const struct renewals *all, const char *name)
{
	LIST_FOR_EACH(node, &all->list) {
		struct renewal *one = LIST_ENTRY(node, struct renewal, link);

		if (strcmp(one->name, name) == 0)
			return one;
	}
	return NULL;
}

void renew_granted(struct renewals *renewals, const char *name)
{
	struct renewal *self = find(renewals, name);

	if (self && self->state == RENEWAL_ASKED) {
		self->state = RENEWAL_OURS;
		wake(self);
	} else if (!self || self->state == RENEWAL_NONE) {
		keys_end_renewal(&renewals->gate->keys, name, false);
	}
}

static void begin(struct renewal *self)
{
	const struct login *login = renew_login(self->all->gate, self->name);
	struct renew_waiter *first = first_of(&self->renewing);

	if (first) {
		self->state = RENEWAL_GUESTS;
		first->on_ready(first);
	} else if (self->host && login && login_renewable(login) &&
		   has_access(login, self->stale)) {
		renew_ask(self, login);
	} else {
		/* Another one has done it meanwhile. */
		renew_give_up(self, false);
	}
}

static void on_wake(struct timer *timer)
{
	struct renewal *self = CONTAINER_OF(timer, struct renewal, wake);
	struct renew_waiter *waiter;

	if (self->state == RENEWAL_OURS)
		begin(self);
	while ((waiter = first_of(&self->ready))) {
		list_remove(&waiter->link);
		waiter->renewal = NULL;
		waiter->on_ready(waiter);
	}
	go_on(self);
}

static struct renewal *renewal_of(struct renewals *all, const char *name)
{
	struct renewal *self = find(all, name);

	if (self)
		return self;
	self = xcalloc(1, sizeof(*self));
	*self = (struct renewal){ .all = all, .name = xstrdup(name) };
	self->patience =
		(struct timer){ .name = "renewal", .on_fire = on_patience };
	self->wake = (struct timer){ .name = "renewed", .on_fire = on_wake };
	list_init(&self->waiting);
	list_init(&self->ready);
	list_init(&self->renewing);
	list_append(&all->list, &self->link);
	return self;
}

/* The host wants another token than the one that is there. */
static void want(struct renewal *self, const struct login *login)
{
	if (!self->stale)
		self->stale = copy_access(login);
	self->host = self->stale != NULL;
	go_on(self);
}

static const struct login *
login_that_goes_along(const struct gate *gate,
		      const struct policy_request *request)
{
	const struct bindings *list = gate->bindings;

	for (size_t i = 0; i < list->login_count; i++) {
		const struct login *login = &list->logins[i];
		const struct binding *binding =
			bindings_find(list, login->name);

		if (login_renewable(login) && ends_within(login, SOON_S) &&
		    binding && has_access(login, binding->value) &&
		    policy_decide_request(binding->where, request).answer ==
			    POLICY_ALLOW)
			return login;
	}
	return NULL;
}

static bool join_guests(struct renewals *all, const struct login *login,
			struct renew_waiter *waiter)
{
	struct renewal *self;

	if (!login_token(login, LOGIN_REFRESH))
		return false;
	self = renewal_of(all, login->name);
	waiter->renewal = self;
	waiter->renews = true;
	list_append(&self->renewing, &waiter->link);
	go_on(self);
	return true;
}

bool renew_concerns(const struct gate *gate)
{
	const struct bindings *list = gate->bindings;

	for (size_t i = 0; list && i < list->login_count; i++) {
		if (login_token(&list->logins[i], LOGIN_REFRESH))
			return true;
	}
	return false;
}

bool renew_join(struct renewals *renewals, const struct policy_request *request,
		struct renew_waiter *waiter)
{
	const struct gate *gate = renewals->gate;
	const struct login *login;
	struct renewal *self;
	bool waits;

	login = bindings_login(gate->bindings, request);
	if (login)
		return join_guests(renewals, login, waiter);
	login = login_that_goes_along(gate, request);
	if (!login)
		return false;
	self = renewal_of(renewals, login->name);
	waits = ends_within(login, ENDS_S);
	if (self->state == RENEWAL_NONE &&
	    !may_try(self, login, waits ? PAUSE_MS : PAUSE_SOON_MS))
		return false;
	if (waits) {
		waiter->renewal = self;
		waiter->renews = false;
		list_append(&self->waiting, &waiter->link);
	}
	want(self, login);
	return waits;
}

void renew_leave(struct renew_waiter *waiter)
{
	struct renewal *self = TAKE_PTR(waiter->renewal);
	bool was_first;

	if (!self)
		return;
	was_first = waiter->renews && self->renewing.next == &waiter->link;
	list_remove(&waiter->link);
	if (was_first && self->state == RENEWAL_GUESTS)
		renew_give_up(self, false);
}

void renew_rejected(struct renewals *renewals, const struct binding *binding)
{
	const struct login *login = renew_login(renewals->gate, binding->name);
	struct renewal *self;

	/* What was refused may be an older one. */
	if (!login || !login_renewable(login) ||
	    !has_access(login, binding->value))
		return;
	self = renewal_of(renewals, login->name);
	if (self->state == RENEWAL_NONE && may_try(self, login, PAUSE_SOON_MS))
		want(self, login);
}

void renew_waiter_init(struct renew_waiter *waiter, renew_fn *on_ready)
{
	*waiter = (struct renew_waiter){ .on_ready = on_ready };
	list_init(&waiter->link);
}

void renew_init(struct renewals *renewals, struct gate *gate)
{
	renewals->gate = gate;
	list_init(&renewals->list);
}

void renew_release(struct renewals *renewals)
{
	LIST_FOR_EACH(node, &renewals->list) {
		struct renewal *self = LIST_ENTRY(node, struct renewal, link);

		timer_stop(&self->patience);
		timer_stop(&self->wake);
		secret_free(self->stale);
		secret_free(self->left);
		renew_talk_cancel(self->talk);
		target_release(&self->target);
		decision_release(&self->decision);
		list_remove(&self->link);
		free(self->name);
		free(self);
	}
}

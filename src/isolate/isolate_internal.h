/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate_internal.h - the layers, each in a file of its own
 */
#pragma once

#include <stdbool.h>

#include "isolate/isolate.h"

/* What was really applied; the ladder is decided on this. */
struct isolate_layers {
	bool namespaces;
	bool private_root;
	bool landlock;
};

/* 0 when this kernel has no Landlock, with errno saying why. */
int landlock_abi(void);
/* Needs no_new_privs. ENOSYS or EOPNOTSUPP in err->code: not available. */
int landlock_restrict(const struct isolate_profile *profile, struct error *err);

/*
 * Enters a user namespace (this uid mapped to itself) and the namespaces asked
 * for, and the private root if the profile has one. Sets what succeeded in
 * layers; a refusal is an error that the caller may live with. A failed
 * private root leaves the old root in place.
 */
int namespaces_enter(const struct isolate_profile *profile, unsigned wanted,
		     struct isolate_layers *layers, struct error *err);
/*
 * The same, tried in a child first: a refusal half-way (AppArmor lets a user
 * namespace begin and then denies it everything) must not leave this process
 * in a namespace where every other user looks like its own.
 */
int namespaces_try(const struct isolate_profile *profile, unsigned wanted,
		   struct isolate_layers *layers, struct error *err);
/* Joins staged namespaces, then makes the others. */
int namespaces_join(const struct isolate_profile *profile,
		    const struct isolate_stage *stage,
		    struct isolate_layers *layers, struct error *err);
/* The CLONE_NEW flags of a set of enum isolate_namespace. */
int namespaces_flags(unsigned namespaces);

typedef int isolate_trial_fn(const struct isolate_profile *profile,
			     struct error *err);

/* Runs trial in a child that ends; 0 or its error. */
int isolate_trial(isolate_trial_fn *trial,
		  const struct isolate_profile *profile, struct error *err);

int private_root_enter(const struct isolate_profile *profile,
		       struct error *err);

/* Needs no_new_privs. */
int seccomp_filter_load(const struct isolate_profile *profile,
			struct error *err);

/* Refuses when the applied layers are below the lowest rung. */
int isolate_check_rung(const struct isolate_profile *profile,
		       const struct isolate_layers *layers,
		       const struct error *why, struct error *err);
/* Landlock as far as there is one, then the check of the rung. */
int isolate_landlock(const struct isolate_profile *profile,
		     struct isolate_layers *layers, struct error *why,
		     struct error *err);

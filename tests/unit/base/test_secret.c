/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_secret.c - unit tests of base/secret.h
 */
#include "base/secret.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "lib/tap.h"

static void bytes_are_kept_with_a_nul_behind(void)
{
	AUTO(secret) struct secret *secret = secret_new("a\0b", 3, NULL);

	CHECK(secret && secret_len(secret) == 3);
	CHECK(memcmp(secret_data(secret), "a\0b", 4) == 0);
}

static void an_empty_one_is_zeros_to_be_written(void)
{
	AUTO(secret) struct secret *secret = secret_new(NULL, 5000, NULL);

	CHECK(secret && secret_len(secret) == 5000);
	for (size_t i = 0; i <= 5000; i++)
		CHECK(secret_data(secret)[i] == 0);
	secret_data(secret)[4999] = 'x';
	CHECK(secret_text(secret)[4999] == 'x');
}

static void one_that_is_too_long_is_refused(void)
{
	struct error err = { 0 };

	CHECK(!secret_new(NULL, SECRET_MAX + 1, &err));
	CHECK(err.text[0] != '\0');
	CHECK(!secret_new(NULL, SIZE_MAX, &err));
}

static void a_child_sees_zeros(void)
{
	AUTO(secret) struct secret *secret = secret_new("key", 3, NULL);
	int status = -1;
	pid_t pid;

	CHECK(secret != NULL);
	pid = fork();
	if (pid == 0)
		_exit(secret_data(secret)[0] == 0 ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(secret_data(secret)[0] == 'k');
}

#ifndef __SANITIZE_ADDRESS__
/* The flags of the mapping, as the kernel tells them. */
static bool has_flags(const void *at, const char *locked, const char *undumped)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	bool here = false, found = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long from, to;

		if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
			here = (uintptr_t)at >= from && (uintptr_t)at < to;
		else if (here && text_starts(line, "VmFlags:"))
			found = strstr(line, locked) && strstr(line, undumped);
	}
	if (file)
		fclose(file);
	return found;
}

static void its_pages_are_not_swapped_and_not_dumped(void)
{
	AUTO(secret) struct secret *secret = secret_new("key", 3, NULL);

	CHECK(secret != NULL);
	CHECK(has_flags(secret, " lo", " dd"));
}
#endif

static void nothing_is_wiped_where_nothing_is(void)
{
	char text[] = "token";

	secret_wipe(NULL, 0);
	secret_wipe_text(NULL);
	secret_free(NULL);
	secret_wipe_text(text);
	CHECK(memcmp(text, "\0\0\0\0\0", 6) == 0);
}

int main(void)
{
	RUN(bytes_are_kept_with_a_nul_behind);
	RUN(an_empty_one_is_zeros_to_be_written);
	RUN(one_that_is_too_long_is_refused);
	RUN(a_child_sees_zeros);
#ifdef __SANITIZE_ADDRESS__
	SKIP(its_pages_are_not_swapped_and_not_dumped,
	     "a sanitizer makes mlock() do nothing");
#else
	RUN(its_pages_are_not_swapped_and_not_dumped);
#endif
	RUN(nothing_is_wiped_where_nothing_is);
	return DONE();
}

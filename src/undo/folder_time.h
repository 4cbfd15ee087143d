/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_time.h - the time of a folder, kept over a crash
 *
 * A file that gets its content back is renamed into its folder, which has the
 * present time then although its names are what they were. What it had is
 * written down before (undo/folder): an undo that is killed in between leaves
 * it to the next one, which begins with the same step.
 */
#pragma once

struct journal_file;

int folder_time_hold(int undo, int folder, struct journal_file *was);
/* Keeps errno. */
void folder_time_put_back(int undo, int folder, const struct journal_file *was);
/* What one that was killed has left; nothing when it was another folder. */
void folder_time_settle(int undo, int folder);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_view.h - progress on stderr
 *
 * On a terminal one line that is rewritten and goes away; elsewhere one plain
 * line for each step.
 */
#pragma once

struct progress;

/* The one view of this process; NULL-safe functions of progress.h use it. */
const struct progress *progress_view(void);
/* Takes the line away; before anything else is written to a terminal. */
void progress_view_clear(void);
/* The same in a signal handler. */
void progress_view_forget(void);
/* Another text for the step that is shown; drawn with the next update. */
void progress_view_retitle(const char *text);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that have joined the run from outside (EVENT_JOIN) and what they have made. When they come is an event from outside, so they need not wait until
 * somebody who computes makes a call: as long as one of them waits for its turn, or for a time, who runs is left where it is after a moment.
 */
#ifndef HS_ENGINE_OUTSIDERS_H
#define HS_ENGINE_OUTSIDERS_H

struct engine;

/* Notes for the backend (guest.h) whether one of them waits beside the task that runs. */
void outsiders_note(struct engine *e);

#endif

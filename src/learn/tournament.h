// The size from which on blocks have mappings of their own, by a tournament of twelve (ELO). Under learn_lock.
//
// It is played while the program asks for blocks of such sizes: a game is two windows of TOURNAMENT_WINDOW_NS, and what
// a window cost is what the one formula (policy/cost.h) says of it.
#ifndef LEARN_TOURNAMENT_H
#define LEARN_TOURNAMENT_H

#include "learn/observe.h"
#include "policy/elo.h"

// Ends a window where that is due, and puts the next arm into *decided. True: it goes on, and wants the next look soon.
INTERNAL bool tournament_step(const struct observation *seen, struct snapshot *decided);
// The champion takes its place; for when LEARN ends. Returns how many games were played.
INTERNAL unsigned tournament_end(struct snapshot *decided);
// LEARN begins anew: all arms play again.
INTERNAL void tournament_reset(void);

#endif

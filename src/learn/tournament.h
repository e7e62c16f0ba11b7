// Tournaments between the values that a decision may have (ELO), a decision after the other: the size from which on
// blocks have mappings of their own (twelve arms), how the cache of big blocks evicts, prefault, huge pages. Under
// learn_lock.
//
// One is played while the program does what it is about: a game is two tryouts (policy/tryout.h).
#ifndef LEARN_TOURNAMENT_H
#define LEARN_TOURNAMENT_H

#include "learn/observe.h"
#include "policy/elo.h"

#define TOURNAMENT_ARMS 12 // at most; that of big thresholds has as many

// No arm has played yet.
INTERNAL void tournament_start(void);
// Ends a window where that is due, and puts the next arm into *decided; without leave the champion, once the game that
// was begun is over. True: it goes on, and wants the next look soon.
INTERNAL bool tournament_step(const struct observation *seen, struct snapshot *decided, enum tryout_leave leave);
// The next game only waits for leave.
INTERNAL bool tournament_waits(void);
// What playing has cost so far, ns of processor time.
INTERNAL double tournament_regret_ns(void);
// The champions take their places, for the file. Returns how many games were played.
INTERNAL unsigned tournament_end(struct snapshot *decided);
// A fork child begins: the window under way, and the game that it belongs to, do not count, and what playing cost was
// the parent's.
INTERNAL void tournament_begin_life(void);
// Whether a decision was played for.
INTERNAL bool tournament_has_decided(enum decision decision);
// The ratings of the big thresholds, whole; all 0: it was not played.
INTERNAL void tournament_list_ratings(uint16_t *ratings);
// What an arm stands for.
INTERNAL size_t tournament_threshold(unsigned arm);

#endif

// A tournament between the arms of one decision (ELO): arms are put in force in turn, in pairs of windows, and each
// pair is a game that the cheaper arm wins.
//
// Ratings start at 1500 and move by at most 32 a game (Elo, "The rating of chessplayers, past and present", 1978). The
// champion plays a challenger: mostly the best of those that are left, now and then any of them, and first of all those
// that have hardly played. The order within a pair alternates, so that a program that speeds up or slows down favours
// nobody. Once all have played enough the weaker half is out, but never the default; and the champion is the default as
// long as nobody leads it clearly.
#ifndef POLICY_ELO_H
#define POLICY_ELO_H

#include "base/compiler.h"

#define ELO_ARMS_MOST 16
#define ELO_START 1500.0

struct elo_arm {
    double rating;
    uint32_t games;
    bool is_out;
};

struct elo {
    unsigned arms, standard; // how many, and which is the default
    unsigned champion, challenger;
    unsigned window; // of the pair: 0 or 1
    bool challenger_first;
    double first_cost; // of the pair's first window
    uint32_t games;
    uint64_t random;
    struct elo_arm arm[ELO_ARMS_MOST];
};

// Begins a tournament of `arms` arms, at most ELO_ARMS_MOST. `seed` draws the challengers.
INTERNAL void elo_start(struct elo *elo, unsigned arms, unsigned standard, uint64_t seed);
// The arm to be in force in the next window.
INTERNAL unsigned elo_arm_now(const struct elo *elo);
// That window has ended, and cost so much. True: a game is over, and the champion may have changed.
INTERNAL bool elo_note(struct elo *elo, double cost);
// The pair that is being played begins anew.
INTERNAL void elo_break_off(struct elo *elo);

#endif

// Which of a few arms is the cheapest, by UCB1 (Auer, Cesa-Bianchi, Fischer, "Finite-time Analysis of the Multiarmed
// Bandit Problem", 2002): each arm is played as often as it might still be the best.
//
// A play is two windows, one with the default in force (arm 0) and one with the arm, first the one, then the other by
// turns. What counts is by how much they differ, relative to both: so a program that changes favours nobody. Divided by
// the largest such difference of late (the running scale) that is a cost from 0 to 1; the default's is 1/2.
//
// An arm is adopted that was the cheaper one more often than chance has it, by UCB_SURE_ERRORS standard errors of a
// coin tossed as often (the sign test; Dixon, Mood, "The statistical sign test", 1946), and of whose differences the
// middle one is UCB_GAIN_PERCENT: single windows that cost several times as much, since memory went back or another
// process ran, decide nothing. Then, and after UCB_MOST_PLAYS plays without, it is over, and whoever plays rests.
#ifndef POLICY_UCB_H
#define POLICY_UCB_H

#include "policy/quantile.h"

#define UCB_ARMS_MOST 8

struct ucb_arm {
    uint32_t plays;
    double differences;     // sum of those of its plays: negative where it was cheaper than the default
    struct quantile middle; // of them
    int32_t wins;           // plays in which it was cheaper, less those in which the default was
    double standard;        // sum of what the default cost beside it
};

struct ucb {
    unsigned arms;
    unsigned held;   // the arm that is in force outside of plays; 0: the default
    unsigned chosen; // is being played
    unsigned window; // of the play: 0 or 1
    double worth;    // by how much a window must cost less
    double first_cost;
    double scale;
    uint32_t plays;
    uint64_t rests_until_ns; // 0: it is being played
    struct ucb_arm arm[UCB_ARMS_MOST];
};

// Begins plays of `arms` arms, from 2 to UCB_ARMS_MOST; `held` is in force so far. What
// does not save `worth` a window is not adopted.
INTERNAL void ucb_start(struct ucb *ucb, unsigned arms, unsigned held, double worth);
// The arm to be in force in the next window.
INTERNAL unsigned ucb_arm_now(const struct ucb *ucb);
// That window has ended, and cost so much. True: it is over; what is held now may be another arm than before.
INTERNAL bool ucb_note(struct ucb *ucb, double cost, uint64_t now_ns);
// That window does not count, nor the play that it belongs to.
INTERNAL void ucb_drop_window(struct ucb *ucb);
// It is over without a result.
INTERNAL void ucb_give_up(struct ucb *ucb, uint64_t now_ns);
// By how much the held arm was cheaper than the default, in thousandths.
INTERNAL int32_t ucb_gain_permille(const struct ucb *ucb);

// The two halves of UCB1: the arm to play next, and what a play of it said (from -1, it cost nothing, to 1).
INTERNAL unsigned ucb_choose(const struct ucb *ucb);
INTERNAL void ucb_learn(struct ucb *ucb, unsigned arm, double difference);

#endif

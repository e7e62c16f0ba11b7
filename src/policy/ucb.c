// UCB1, and what is made of it.
#include "policy/ucb.h"

#include "base/bits.h"
#include "base/tuning.h"

#define LEAST_SCALE 0.04 // half of the costs differ by 8 %: below that differences are noise
#define SCALE_FADES 64   // the scale loses this part (1/N) with each play
#define MOST_LOSS_PERMILLE 1000000
#define LN_2 0.693147180559945

// By its series, without the mathematical library: ln m = 2 (z + z^3/3 + ...) where z = (m - 1) / (m + 1).
static double ucb_logarithm(uint32_t number) {
    if (number == 0)
        return 0;
    unsigned doublings = bits_highest(number);
    double m = (double)number / (double)(UINT64_C(1) << doublings), sum = 0; // 1 to 2
    double z = (m - 1) / (m + 1), power = z;
    for (unsigned i = 1; i < 16; i += 2) {
        sum += power / i;
        power *= z * z;
    }
    return doublings * LN_2 + 2 * sum;
}

// By Newton's method, of what is a few dozen at most.
static double ucb_root(double square) {
    double root = square > 1 ? square : 1;
    for (unsigned i = 0; i < 12; i++)
        root = (root + square / root) / 2;
    return root;
}

// What an arm may cost at best. Of one that was never played nothing is known: that is the least.
static double lowest_cost(const struct ucb *ucb, unsigned index) {
    const struct ucb_arm *arm = &ucb->arm[index];
    if (arm->plays == 0)
        return -1e9;
    double mean = arm->differences / arm->plays / ucb->scale;
    double cost = mean < -1 ? 0 : mean > 1 ? 1 : (1 + mean) / 2;
    return cost - ucb_root(2 * ucb_logarithm(ucb->plays) / arm->plays);
}

unsigned ucb_choose(const struct ucb *ucb) {
    unsigned best = 0;
    double least = lowest_cost(ucb, 0);
    for (unsigned i = 1; i < ucb->arms; i++) {
        double cost = lowest_cost(ucb, i);
        best = cost < least ? i : best;
        least = cost < least ? cost : least;
    }
    return best;
}

void ucb_learn(struct ucb *ucb, unsigned arm, double difference) {
    double size = difference < 0 ? -difference : difference;
    ucb->scale -= ucb->scale / SCALE_FADES;
    ucb->scale = size > ucb->scale ? size : ucb->scale;
    ucb->scale = ucb->scale > LEAST_SCALE ? ucb->scale : LEAST_SCALE;
    ucb->arm[arm].differences += difference;
    ucb->arm[arm].squares += difference * difference;
    ucb->arm[arm].plays++;
    ucb->plays++;
}

void ucb_start(struct ucb *ucb, unsigned arms, unsigned held, double worth) {
    CHECK(arms >= 2 && arms <= UCB_ARMS_MOST && held < arms);
    *ucb = (struct ucb){.arms = arms, .held = held, .worth = worth, .scale = LEAST_SCALE};
    ucb->chosen = ucb_choose(ucb);
}

// The default is first in every other play of an arm.
static bool standard_is_now(const struct ucb *ucb) {
    return (ucb->arm[ucb->chosen].plays % 2 == 0) == (ucb->window == 0);
}

unsigned ucb_arm_now(const struct ucb *ucb) {
    if (ucb->rests_until_ns != 0)
        return ucb->held;
    return standard_is_now(ucb) ? 0 : ucb->chosen;
}

static bool is_better(double cost, double standard) {
    return cost < standard * (100 - UCB_GAIN_PERCENT) / 100;
}

// The mean of its differences is so many of its standard errors below zero; both multiplied by the number of plays, and
// squared.
static bool is_surely_better(const struct ucb_arm *arm) {
    double plays = arm->plays, square = arm->differences * arm->differences;
    double variance = plays > 1 ? (arm->squares - square / plays) / (plays - 1) : 0;
    return arm->differences < 0 && square > UCB_SURE_ERRORS * UCB_SURE_ERRORS * plays * variance;
}

// Ends a round where that is due; true: the arm is to be adopted.
static bool end_round(struct ucb_arm *arm, double worth) {
    if (arm->plays % UCB_ROUND_PLAYS != 0)
        return false;
    arm->better_rounds = is_better(arm->round_cost, arm->round_standard) ? arm->better_rounds + 1 : 0;
    arm->round_cost = 0;
    arm->round_standard = 0;
    return arm->better_rounds >= UCB_ROUNDS && is_better(arm->cost, arm->standard) &&
           arm->standard - arm->cost >= worth * arm->plays && is_surely_better(arm);
}

static bool note_play(struct ucb *ucb, double cost, double standard) {
    struct ucb_arm *arm = &ucb->arm[ucb->chosen];
    double both = cost + standard;
    // The default beside itself differs by nothing.
    ucb_learn(ucb, ucb->chosen, ucb->chosen != 0 && both > 0 ? (cost - standard) / both : 0);
    arm->cost += cost;
    arm->standard += standard;
    arm->round_cost += cost;
    arm->round_standard += standard;
    return end_round(arm, ucb->worth) && ucb->chosen != 0;
}

void ucb_give_up(struct ucb *ucb, uint64_t now_ns) {
    ucb->rests_until_ns = now_ns + UCB_REST_NS;
}

bool ucb_note(struct ucb *ucb, double cost, uint64_t now_ns) {
    cost = cost > 0 ? cost : 0;
    if (ucb->window == 0) {
        ucb->first_cost = cost;
        ucb->window = 1;
        return false;
    }
    bool is_standard = standard_is_now(ucb);
    bool adopted = note_play(ucb, is_standard ? ucb->first_cost : cost, is_standard ? cost : ucb->first_cost);
    const struct ucb_arm *held = &ucb->arm[ucb->held];
    bool is_over = adopted || ucb->plays >= UCB_MOST_PLAYS;
    if (adopted)
        ucb->held = ucb->chosen;
    else if (is_over && held->cost >= held->standard) // what was better once is so no more
        ucb->held = 0;
    if (is_over)
        ucb_give_up(ucb, now_ns);
    ucb->window = 0;
    ucb->chosen = ucb_choose(ucb);
    return is_over;
}

void ucb_drop_window(struct ucb *ucb) {
    ucb->window = 0;
}

int32_t ucb_gain_permille(const struct ucb *ucb) {
    const struct ucb_arm *held = &ucb->arm[ucb->held];
    if (ucb->held == 0 || held->standard <= 0)
        return 0;
    double gain = 1000 - 1000 * held->cost / held->standard;
    return gain > -MOST_LOSS_PERMILLE ? (int32_t)gain : -MOST_LOSS_PERMILLE;
}

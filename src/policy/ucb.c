// UCB1, and what is made of it.
#include "policy/ucb.h"

#include "base/bits.h"
#include "base/tuning.h"

#define LEAST_SCALE 0.04     // half of the costs differ by 8 %: below that differences are noise
#define MOST_DIFFERENCE 0.15 // a third more or less: beyond that a play says no more
#define SCALE_FADES 64       // the scale loses this part (1/N) with each play
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
    ucb->arm[arm].plays++;
    ucb->plays++;
}

void ucb_start(struct ucb *ucb, unsigned arms, unsigned held, double worth) {
    CHECK(arms >= 2 && arms <= UCB_ARMS_MOST && held < arms);
    *ucb = (struct ucb){.arms = arms, .held = held, .worth = worth, .scale = LEAST_SCALE};
    for (unsigned i = 0; i < arms; i++)
        quantile_start(&ucb->arm[i].middle, 0.5);
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

// What part of the default's cost an arm saves, by its middle play.
static double ucb_gain(const struct ucb_arm *arm) {
    double difference = quantile_value(&arm->middle);
    return -2 * difference / (1 - difference);
}

// So many more wins than losses are so many standard errors; both squared.
static bool is_surely_better(const struct ucb_arm *arm) {
    double wins = arm->wins;
    return wins > 0 && wins * wins > (double)UCB_SURE_ERRORS * UCB_SURE_ERRORS * arm->plays;
}

static bool is_to_be_adopted(const struct ucb_arm *arm, double worth) {
    double gain = ucb_gain(arm);
    return is_surely_better(arm) && gain * 100 >= UCB_GAIN_PERCENT && arm->standard / arm->plays * gain >= worth;
}

static bool note_play(struct ucb *ucb, double cost, double standard) {
    struct ucb_arm *arm = &ucb->arm[ucb->chosen];
    double both = cost + standard;
    // The default beside itself differs by nothing.
    double difference = ucb->chosen != 0 && both > 0 ? (cost - standard) / both : 0;
    double least = difference > -MOST_DIFFERENCE ? difference : -MOST_DIFFERENCE;
    ucb_learn(ucb, ucb->chosen, least < MOST_DIFFERENCE ? least : MOST_DIFFERENCE);
    quantile_add(&arm->middle, difference);
    arm->wins += (difference < 0) - (difference > 0);
    arm->standard += standard;
    return ucb->chosen != 0 && is_to_be_adopted(arm, ucb->worth);
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
    else if (is_over && ucb_gain(held) <= 0) // what was better once is so no more
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
    double gain = ucb->held != 0 ? 1000 * ucb_gain(&ucb->arm[ucb->held]) : 0;
    return gain > -MOST_LOSS_PERMILLE ? (int32_t)gain : -MOST_LOSS_PERMILLE;
}

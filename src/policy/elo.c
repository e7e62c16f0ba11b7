// The tournament.
#include "policy/elo.h"

#define ELO_K 32.0
#define ELO_SCALE 400.0
#define ELO_DRAW 0.01     // costs that differ by less are equal
#define ELO_LEAST_GAMES 4 // of each arm before the weaker half is out
#define ELO_EXPLORE 10    // one challenger of so many is drawn from all that are left
#define ELO_LEAD 200.0    // of the champion over the default, else it is the default: noise alone leads by less

static unsigned draw(struct elo *elo, unsigned limit) {
    elo->random = elo->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); // Knuth's MMIX
    return (unsigned)((elo->random >> 33) % limit);
}

// 10^(difference / ELO_SCALE) by its series: without the mathematical library; exact enough for |difference| <= 800.
static double power_of_ten(double difference) {
    double x = difference / ELO_SCALE * 2.302585092994046 / 16, sum = 1, term = 1;
    for (unsigned i = 1; i < 12; i++) {
        term *= x / i;
        sum += term;
    }
    for (unsigned i = 0; i < 4; i++)
        sum *= sum;
    return sum;
}

static double clamped(double number, double least, double most) {
    return number < least ? least : number > most ? most : number;
}

// What the champion may be expected to score.
static double expected(const struct elo *elo) {
    double difference = elo->arm[elo->challenger].rating - elo->arm[elo->champion].rating;
    return 1 / (1 + power_of_ten(clamped(difference, -2 * ELO_SCALE, 2 * ELO_SCALE)));
}

static bool may_play(const struct elo *elo, unsigned arm) {
    return arm != elo->champion && !elo->arm[arm].is_out;
}

static unsigned drawn_challenger(struct elo *elo) {
    unsigned arm = draw(elo, elo->arms);
    while (!may_play(elo, arm))
        arm = arm + 1 < elo->arms ? arm + 1 : 0;
    return arm;
}

// The one that has played least while it has played too little, else the best.
static unsigned due_challenger(const struct elo *elo) {
    unsigned best = elo->arms;
    for (unsigned i = 0; i < elo->arms; i++) {
        if (!may_play(elo, i))
            continue;
        const struct elo_arm *arm = &elo->arm[i], *other = &elo->arm[best < elo->arms ? best : i];
        bool is_new = arm->games < ELO_LEAST_GAMES, other_is_new = other->games < ELO_LEAST_GAMES;
        bool better = is_new != other_is_new ? is_new
                      : is_new               ? arm->games < other->games
                                             : arm->rating > other->rating;
        if (best == elo->arms || better)
            best = i;
    }
    return best;
}

void elo_start(struct elo *elo, unsigned arms, unsigned standard, uint64_t seed) {
    CHECK(arms >= 2 && arms <= ELO_ARMS_MOST && standard < arms);
    *elo = (struct elo){.arms = arms, .standard = standard, .champion = standard, .random = seed};
    for (unsigned i = 0; i < arms; i++)
        elo->arm[i].rating = ELO_START;
    elo->challenger = due_challenger(elo);
}

unsigned elo_arm_now(const struct elo *elo) {
    return (elo->window == 0) == elo->challenger_first ? elo->challenger : elo->champion;
}

static void score(struct elo *elo, double champion_cost, double challenger_cost) {
    double difference = champion_cost - challenger_cost;
    double limit = (champion_cost + challenger_cost) / 2 * ELO_DRAW;
    double points = difference > limit ? 0 : difference < -limit ? 1 : 0.5;
    double moved = ELO_K * (points - expected(elo));
    elo->arm[elo->champion].rating += moved;
    elo->arm[elo->challenger].rating -= moved;
    elo->arm[elo->champion].games++;
    elo->arm[elo->challenger].games++;
    elo->games++;
}

// The arms that stay when all have played enough: the better half, and the default.
static void drop_weak(struct elo *elo) {
    if (elo->arms < 4) // somebody has to be left to play
        return;
    for (unsigned i = 0; i < elo->arms; i++)
        if (elo->arm[i].games < ELO_LEAST_GAMES || elo->arm[i].is_out)
            return;
    for (unsigned i = 0; i < elo->arms; i++) {
        unsigned better = 0;
        for (unsigned k = 0; k < elo->arms; k++)
            better += elo->arm[k].rating > elo->arm[i].rating;
        elo->arm[i].is_out = better >= (elo->arms + 1) / 2 && i != elo->standard;
    }
}

static void choose_champion(struct elo *elo) {
    unsigned best = elo->standard;
    for (unsigned i = 0; i < elo->arms; i++)
        if (!elo->arm[i].is_out && elo->arm[i].games >= ELO_LEAST_GAMES && elo->arm[i].rating > elo->arm[best].rating)
            best = i;
    bool leads = elo->arm[best].rating >= elo->arm[elo->standard].rating + ELO_LEAD;
    elo->champion = leads ? best : elo->standard;
}

bool elo_note(struct elo *elo, double cost) {
    if (elo->window == 0) {
        elo->first_cost = cost;
        elo->window = 1;
        return false;
    }
    if (elo->challenger_first)
        score(elo, cost, elo->first_cost);
    else
        score(elo, elo->first_cost, cost);
    drop_weak(elo);
    choose_champion(elo);
    elo->window = 0;
    elo->challenger = draw(elo, ELO_EXPLORE) == 0 ? drawn_challenger(elo) : due_challenger(elo);
    elo->challenger_first = elo->arm[elo->challenger].games % 2 == 1; // each by turns: a trend favours nobody
    return true;
}

void elo_break_off(struct elo *elo) {
    elo->window = 0;
}

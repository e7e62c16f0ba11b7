// The tournament of big thresholds.
#include "learn/tournament.h"

#include "policy/cost.h"
#include "sys/os.h"

#define ARMS 12
#define TOURNAMENT_LEAST_CALLS 8 // for big blocks in a window, for it to count
// It is settled after so many games, so many of them without another champion: all arms have played then, and the best
// has had time to take the lead.
#define TOURNAMENT_LEAST_GAMES 80
#define TOURNAMENT_SETTLED_GAMES 32

static const size_t thresholds[ARMS] = {512 * KIB, 768 * KIB, MIB,     1536 * KIB, 2 * MIB,  3 * MIB,
                                        4 * MIB,   6 * MIB,   8 * MIB, 16 * MIB,   24 * MIB, BIG_THRESHOLD_MAX_BYTES};
#define STANDARD (ARMS - 1) // BIG_THRESHOLD_BYTES

static struct {
    struct elo elo;
    struct observation last; // at the window's beginning; now_ns 0: no window
    bool is_playing;
    unsigned champion;
    uint32_t champion_games; // when it became that
} tournament;

void tournament_reset(void) {
    tournament.is_playing = false;
    tournament.last.now_ns = 0;
}

static bool is_settled(void) {
    const struct elo *elo = &tournament.elo;
    for (unsigned i = 0; i < ARMS; i++)
        if (elo->arm[i].games == 0)
            return false;
    return elo->games >= TOURNAMENT_LEAST_GAMES && elo->games - tournament.champion_games >= TOURNAMENT_SETTLED_GAMES;
}

static void begin(void) {
    elo_start(&tournament.elo, ARMS, STANDARD, os_facts.random);
    tournament.is_playing = true;
    tournament.champion = STANDARD;
    tournament.champion_games = 0;
}

static void note(double cost) {
    if (!elo_note(&tournament.elo, cost) || tournament.elo.champion == tournament.champion)
        return;
    tournament.champion = tournament.elo.champion;
    tournament.champion_games = tournament.elo.games;
}

bool tournament_step(const struct observation *seen, struct snapshot *decided) {
    if (tournament.last.now_ns == 0) {
        tournament.last = *seen;
        return false;
    }
    if (seen->now_ns - tournament.last.now_ns < TOURNAMENT_WINDOW_NS)
        return tournament.is_playing && !is_settled();
    bool counts = seen->big_calls - tournament.last.big_calls >= TOURNAMENT_LEAST_CALLS;
    if (counts && !tournament.is_playing)
        begin();
    else if (counts)
        note(observed_cost(seen, &tournament.last));
    tournament.last = *seen;
    if (!tournament.is_playing)
        return false;
    bool goes_on = counts && !is_settled();
    decided->big_threshold = thresholds[goes_on ? elo_arm_now(&tournament.elo) : tournament.elo.champion];
    return goes_on;
}

unsigned tournament_end(struct snapshot *decided) {
    if (!tournament.is_playing)
        return 0;
    decided->big_threshold = thresholds[tournament.elo.champion];
    return tournament.elo.games;
}

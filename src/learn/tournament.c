// The tournaments.
#include "learn/tournament.h"

#include "policy/cost.h"
#include "sys/os.h"

// What must have happened in a window for it to count.
#define TOURNAMENT_LEAST_CALLS 8   // calls for big blocks, or blocks that grew by small steps
#define TOURNAMENT_LEAST_FAULTS 64 // page faults
// Windows without that after which the next contest has its turn.
#define TOURNAMENT_IDLE_WINDOWS 8
// A contest is settled after so many games an arm, so many games without another champion: all arms have played then,
// and the best has had time to take the lead.
#define TOURNAMENT_ARM_GAMES 7
#define TOURNAMENT_SETTLED_GAMES 32

enum activity { ACTIVITY_BIG_CALLS, ACTIVITY_FAULTS, ACTIVITY_GROWTH };

static const struct contest {
    enum decision decision;
    enum activity activity;
    unsigned arms, standard;
    size_t values[TOURNAMENT_ARMS];
} contests[] = {
    {DECISION_big_threshold,
     ACTIVITY_BIG_CALLS,
     12,
     11,
     {512 * KIB, 768 * KIB, MIB, 1536 * KIB, 2 * MIB, 3 * MIB, 4 * MIB, 6 * MIB, 8 * MIB, 16 * MIB, 24 * MIB,
      BIG_THRESHOLD_BYTES}},
    {DECISION_fifo_least, ACTIVITY_BIG_CALLS, 3, 1, {BIG_LEAST_BYTES, CACHE_FIFO_BYTES, 16 * GIB}},
    {DECISION_prefault, ACTIVITY_BIG_CALLS, 2, 0, {0, 1}},
    {DECISION_huge_pages, ACTIVITY_FAULTS, 3, 1, {0, 1, 2}},
    {DECISION_headroom_share, ACTIVITY_GROWTH, 4, 2, {1, 2, REALLOC_HEADROOM_SHARE, 16}},
};
#define CONTESTS (sizeof contests / sizeof contests[0])

static struct {
    struct observation last; // at the window's beginning; now_ns 0: no window
    unsigned contest;        // that is being played
    unsigned idle;           // windows of it in a row that did not count
    bool is_on;              // the arm whose turn it is was in force in this window
    struct table {
        struct elo elo;
        bool has_begun;
        unsigned champion;
        uint32_t champion_games; // when it became that
    } tables[CONTESTS];
} tournament;

void tournament_start(void) {
    for (unsigned i = 0; i < CONTESTS; i++)
        tournament.tables[i].has_begun = false;
    tournament.contest = tournament.idle = 0;
    tournament.is_on = false;
    tournament.last.now_ns = 0;
}

void tournament_break_off(void) {
    elo_break_off(&tournament.tables[tournament.contest].elo);
    tournament.is_on = false;
    tournament.last.now_ns = 0;
}

static bool contest_is_settled(unsigned contest) {
    const struct table *table = &tournament.tables[contest];
    if (!table->has_begun || table->elo.games < TOURNAMENT_ARM_GAMES * contests[contest].arms)
        return false;
    for (unsigned i = 0; i < contests[contest].arms; i++)
        if (table->elo.arm[i].games == 0)
            return false;
    return table->elo.games - table->champion_games >= TOURNAMENT_SETTLED_GAMES;
}

static void contest_begin(unsigned contest) {
    struct table *table = &tournament.tables[contest];
    elo_start(&table->elo, contests[contest].arms, contests[contest].standard, os_facts.random);
    table->has_begun = true;
    table->champion = contests[contest].standard;
    table->champion_games = 0;
}

static void contest_note(struct table *table, double cost) {
    if (!elo_note(&table->elo, cost) || table->elo.champion == table->champion)
        return;
    table->champion = table->elo.champion;
    table->champion_games = table->elo.games;
}

static bool contest_counts(enum activity activity, const struct observation *seen, const struct observation *last) {
    switch (activity) {
    case ACTIVITY_BIG_CALLS:
        return seen->big_calls - last->big_calls >= TOURNAMENT_LEAST_CALLS;
    case ACTIVITY_FAULTS:
        return seen->faults >= last->faults + TOURNAMENT_LEAST_FAULTS; // a fork child's begin anew
    case ACTIVITY_GROWTH:
        break;
    }
    return seen->grown_blocks - last->grown_blocks >= TOURNAMENT_LEAST_CALLS;
}

static void contest_show(unsigned contest, unsigned arm, struct snapshot *decided) {
    *snapshot_field(decided, contests[contest].decision) = contests[contest].values[arm];
}

// To the next contest that is not settled; false: there is none.
static bool contest_pass_on(void) {
    tournament.idle = 0;
    tournament.is_on = false;
    for (unsigned i = 1; i <= CONTESTS; i++) {
        unsigned next = (tournament.contest + i) % CONTESTS;
        if (contest_is_settled(next))
            continue;
        tournament.contest = next;
        return true;
    }
    return false;
}

bool tournament_step(const struct observation *seen, struct snapshot *decided) {
    if (tournament.last.now_ns == 0) {
        tournament.last = *seen;
        return false;
    }
    unsigned contest = tournament.contest;
    struct table *table = &tournament.tables[contest];
    if (seen->now_ns - tournament.last.now_ns < TOURNAMENT_WINDOW_NS)
        return table->has_begun && tournament.idle == 0 && !contest_is_settled(contest);
    bool is_game = !contest_is_settled(contest) && contest_counts(contests[contest].activity, seen, &tournament.last);
    if (is_game && !table->has_begun)
        contest_begin(contest);
    else if (is_game && tournament.is_on)
        contest_note(table, observed_cost(seen, &tournament.last));
    else if (table->has_begun)
        elo_break_off(&table->elo); // windows of a pair that lie apart tell nothing of its arms
    tournament.last = *seen;
    tournament.idle = is_game ? 0 : tournament.idle + 1;
    bool goes_on = is_game && !contest_is_settled(contest);
    if (table->has_begun)
        contest_show(contest, goes_on ? elo_arm_now(&table->elo) : table->elo.champion, decided);
    tournament.is_on = goes_on;
    if (contest_is_settled(contest) || tournament.idle >= TOURNAMENT_IDLE_WINDOWS)
        return contest_pass_on() && is_game;
    return goes_on;
}

unsigned tournament_end(struct snapshot *decided) {
    unsigned games = 0;
    for (unsigned i = 0; i < CONTESTS; i++) {
        const struct table *table = &tournament.tables[i];
        if (!table->has_begun)
            continue;
        contest_show(i, table->elo.champion, decided);
        games += table->elo.games;
    }
    return games;
}

bool tournament_has_decided(enum decision decision) {
    for (unsigned i = 0; i < CONTESTS; i++)
        if (contests[i].decision == decision && tournament.tables[i].has_begun)
            return true;
    return false;
}

void tournament_list_ratings(uint16_t *ratings) {
    const struct table *table = &tournament.tables[0];
    for (unsigned i = 0; i < TOURNAMENT_ARMS; i++)
        ratings[i] = table->has_begun ? (uint16_t)table->elo.arm[i].rating : 0;
}

size_t tournament_threshold(unsigned arm) {
    return contests[0].values[arm];
}

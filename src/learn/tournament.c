// The tournaments.
#include "learn/tournament.h"

#include "policy/tryout.h"
#include "sys/os.h"

// Page faults that a window must have where they are what a contest is about.
#define TOURNAMENT_LEAST_FAULTS 64
// Windows that do not count after which the next contest has its turn.
#define TOURNAMENT_IDLE_WINDOWS 8
// A contest is settled after so many games an arm, so many games without another champion: all arms have played then,
// and the best has had time to take the lead.
#define TOURNAMENT_ARM_GAMES 7
#define TOURNAMENT_SETTLED_GAMES 32

// What a contest is about. The work in a window is bytes that were asked for: of big blocks those above the slab
// classes, since smaller ones that an arm makes big come from stacks under the others, where nobody counts.
enum activity { ACTIVITY_BIG_BLOCKS, ACTIVITY_FAULTS };

static const struct contest {
    enum decision decision;
    enum activity activity;
    unsigned arms, standard;
    size_t values[TOURNAMENT_ARMS];
} contests[] = {
    {DECISION_big_threshold,
     ACTIVITY_BIG_BLOCKS,
     12,
     11,
     {512 * KIB, 768 * KIB, MIB, 1536 * KIB, 2 * MIB, 3 * MIB, 4 * MIB, 6 * MIB, 8 * MIB, 16 * MIB, 24 * MIB,
      BIG_THRESHOLD_BYTES}},
    {DECISION_fifo_least, ACTIVITY_BIG_BLOCKS, 3, 1, {BIG_LEAST_BYTES, CACHE_FIFO_BYTES, 16 * GIB}},
    {DECISION_prefault, ACTIVITY_BIG_BLOCKS, 2, 0, {0, 1}},
    {DECISION_huge_pages, ACTIVITY_FAULTS, 3, 1, {0, 1, 2}},
};
#define CONTESTS (sizeof contests / sizeof contests[0])

static struct {
    struct tryout tryout;
    uint64_t faults;  // at the window's beginning
    unsigned contest; // that is being played
    unsigned idle;    // windows of it in a row that did not count
    bool is_on;       // the arm whose turn it is was in force in this window
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
    tryout_start(&tournament.tryout);
}

void tournament_begin_life(void) {
    elo_break_off(&tournament.tables[tournament.contest].elo);
    tournament.is_on = false;
    tryout_break_off(&tournament.tryout);
    tournament.tryout.regret_ns = 0;
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

static void contest_show(unsigned contest, unsigned arm, struct snapshot *decided) {
    *snapshot_field(decided, contests[contest].decision) = contests[contest].values[arm];
}

// To the next contest that is not settled; false: there is none.
static bool contest_pass_on(void) {
    tournament.idle = 0;
    tournament.is_on = false;
    tryout_start(&tournament.tryout); // in which other work counts
    for (unsigned i = 1; i <= CONTESTS; i++) {
        unsigned next = (tournament.contest + i) % CONTESTS;
        if (contest_is_settled(next))
            continue;
        tournament.contest = next;
        return true;
    }
    return false;
}

static struct tryout_seen contest_seen(const struct observation *seen) {
    bool is_big = contests[tournament.contest].activity == ACTIVITY_BIG_BLOCKS;
    return observed_for_tryout(seen, is_big ? seen->big_bytes : observed_asked_bytes(seen));
}

static void contest_begin_window(const struct observation *seen) {
    const struct table *table = &tournament.tables[tournament.contest];
    struct tryout_seen now = contest_seen(seen);
    unsigned champion = table->has_begun ? table->elo.champion : contests[tournament.contest].standard;
    unsigned arm = tournament.is_on ? elo_arm_now(&table->elo) : champion;
    tryout_begin_window(&tournament.tryout, &now, arm, champion);
    tournament.faults = seen->faults;
}

// Whether there was what the contest is about.
static bool contest_is_active(const struct observation *seen) {
    struct tryout_seen now = contest_seen(seen);
    bool has_faults = contests[tournament.contest].activity != ACTIVITY_FAULTS ||
                      seen->faults >= tournament.faults + TOURNAMENT_LEAST_FAULTS; // a fork child's begin anew
    return has_faults && tryout_has_enough(&tournament.tryout, &now);
}

// A window, in which the arm whose turn it is was in force where a game is on. False: it was too long to tell.
static bool contest_note_window(struct table *table, const struct observation *seen) {
    struct tryout_seen now = contest_seen(seen);
    double cost;
    enum tryout_result result = tryout_end_window(&tournament.tryout, &now, &cost);
    if (result == TRYOUT_COUNTS && tournament.is_on)
        contest_note(table, cost);
    return result != TRYOUT_COUNTS_NOT;
}

bool tournament_waits(void) {
    unsigned contest = tournament.contest;
    return tournament.tables[contest].has_begun && tournament.idle == 0 && !contest_is_settled(contest);
}

double tournament_regret_ns(void) {
    return tournament.tryout.regret_ns;
}

bool tournament_step(const struct observation *seen, struct snapshot *decided, enum tryout_leave leave) {
    unsigned contest = tournament.contest;
    struct table *table = &tournament.tables[contest];
    if (!tryout_has_window(&tournament.tryout)) {
        contest_begin_window(seen);
        return false;
    }
    if (!tryout_is_due(&tournament.tryout, seen->now_ns))
        return tournament.is_on && tournament_waits();
    bool is_game = !contest_is_settled(contest) && contest_is_active(seen);
    if (is_game && !table->has_begun)
        contest_begin(contest);
    if (is_game && !contest_note_window(table, seen))
        is_game = !tournament.is_on; // where nothing is tried looks are rare
    if (!is_game && table->has_begun)
        elo_break_off(&table->elo); // windows of a pair that lie apart tell nothing of its arms
    tournament.idle = is_game ? 0 : tournament.idle + 1;
    tournament.is_on = is_game && !contest_is_settled(contest) && (leave == TRYOUT_MAY || table->elo.window > 0);
    if (table->has_begun)
        contest_show(contest, tournament.is_on ? elo_arm_now(&table->elo) : table->elo.champion, decided);
    bool goes_on = tournament.is_on;
    if (contest_is_settled(contest) || tournament.idle >= TOURNAMENT_IDLE_WINDOWS)
        goes_on = contest_pass_on() && is_game;
    contest_begin_window(seen);
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

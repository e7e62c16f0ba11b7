// How much free memory to hold, and how long: by what faulting it in again costs.
//
// A MiB that goes back and is needed again costs its page faults; one that stays costs its price in memory. They are
// equal after retention_ns. Who waits for so long costs at most twice as much as who knows the future, whatever the
// program does (the ski-rental argument: Karlin, Manasse, Rudolph, Sleator, "Competitive snoopy caching", 1988). But
// most of what is freed comes again at once or not at all, and then the best time to wait is hardly longer than the
// short waits (Krishnan, Long, Vitter, "Adaptive disk spindown via optimal rent-to-buy in probabilistic environments",
// 1999): memory that came, went and came again within a part of that time is held for so long, and what did not for
// less. What that costs where it is wrong has a bound (RETENTION_BACK_SHARE).
#ifndef POLICY_RETENTION_H
#define POLICY_RETENTION_H

#include "policy/cost.h"
#include "policy/rises.h"

#define RETENTION_LEVELS 128
// What came again is held for this part (1/N) of the time after which holding costs as much as faulting in; and what
// did not goes after this part (1/N) of that.
#define RETENTION_HOLD_SHARE 4
#define RETENTION_IDLE_SHARE 8
// The part (1/N) of the time that faulting in again what was idle may cost.
#define RETENTION_BACK_SHARE 100

struct retention_seen {
    uint64_t now_ns;
    struct rises_seen in_use;
    size_t retained_bytes;
    size_t highest_retained_bytes; // since the last look, whoever looked
    size_t allowance_bytes;        // the mechanism's own, by refaults
    uint64_t refaulted_bytes;      // so far
    uint64_t worth_ns;             // for which holding costs as much as faulting in: retention_ns
    uint64_t hold_ns;              // for which what comes again is held: retention_hold_ns
    uint64_t due_ns;               // when a look of the program's own threads was due; 0: not known
    uint64_t busy_ns;              // processor time of the process so far; 0: not known
    unsigned threads;
    bool is_helpers; // the helper looks: none of the program's own threads came by
};

struct retention {
    struct retention_seen last; // now_ns 0: nothing was seen yet
    struct {                    // the last look that was not the helper's
        uint64_t now_ns, busy_ns;
    } looked;
    struct {                   // what may be a sleep: since the last of those before which the program was busy
        uint64_t from_ns;      // that, or when the next one was due; 0: not known yet
        uint64_t busy_ns;      // processor time of the process until then
        size_t retained_bytes; // the most since then
    } sleep;
    struct rises rises;
    uint64_t refault_ns;     // when purged memory was last needed again
    size_t refault_bytes;    // the mechanism's allowance then
    uint64_t worth_since_ns; // at each look, there is enough to be worth a thread
    bool is_worth_helper;    // it was for long
    bool has_slept;          // and the program did hardly anything for longer
    // What holding it through all falls so far would have gained, by the depth of a byte below what was in use, in
    // bytes faulted in.
    double gains[RETENTION_LEVELS];
    struct {
        uint64_t last_ns; // 0: nothing was held yet
        unsigned level;
        uint64_t ns[RETENTION_LEVELS];
    } held; // how long which amount was: two levels to a doubling
};

struct retention_choice {
    size_t allowance_least;
    size_t purge_delay; // milliseconds, for memory that lies idle where nobody looks; 0: no need
};

// How long holding memory costs as much as faulting it in again, at that price of a MiB for a second, ns.
ALWAYS_INLINE uint64_t retention_ns(const struct cost_page *page, size_t price) {
    return cost_of_mib_ns(page) * SECOND_NS / price;
}

// How long what comes again is held at most, by that.
ALWAYS_INLINE uint64_t retention_hold_ns(uint64_t worth_ns) {
    return worth_ns / RETENTION_HOLD_SHARE;
}

// How long nobody may take memory that has not come again yet, to begin with: most of what is freed and not taken soon
// is not taken at all, or by another phase of the program.
ALWAYS_INLINE uint64_t retention_idle_ns(uint64_t hold_ns) {
    return hold_ns / RETENTION_IDLE_SHARE;
}

// How much may go and come back within hold_ns, by what that costs.
ALWAYS_INLINE size_t retention_idle_back_bytes(const struct cost_page *page, uint64_t hold_ns) {
    return hold_ns * KIB / cost_of_mib_ns(page) * KIB / RETENTION_BACK_SHARE;
}

// How many such times it really is, by what comes back: where half of what went within hold_ns did, whoever saw it rise
// or not, and more than may, twice as many, up to hold_ns; where not, half as many, unless what went says nothing: less
// than what may come back. What was purged for other reasons is taken to come back first.
struct retention_idle {
    unsigned delays;                        // 0 or 1: one
    unsigned waited;                        // of them
    unsigned weighed;                       // since what went last is counted
    uint64_t released_bytes;                // since then
    uint64_t refaulted_bytes, purged_bytes; // until then
};
// A delay has gone by, with so many bytes refaulted and purged so far, for whatever reason: whether what was idle all
// the time is to go.
INTERNAL bool retention_idle_is_due(struct retention_idle *idle, uint64_t refaulted_bytes, uint64_t purged_bytes,
                                    size_t back_bytes);
// So much went.
INTERNAL void retention_idle_note(struct retention_idle *idle, uint64_t released_bytes);

INTERNAL struct retention_choice retention_step(struct retention *state, const struct retention_seen *seen);
// Whether the next run, too, is to look after what lies idle, which takes a thread. A program that computes without
// allocating may do with what goes once it allocates again.
ALWAYS_INLINE bool retention_has_slept(const struct retention *state) {
    return state->has_slept;
}

// A fork child: it has not slept yet, nor held anything. What rose before is known.
INTERNAL void retention_begin_life(struct retention *state, uint64_t now_ns);
// So many bytes are held from now on.
INTERNAL void retention_note_held(struct retention *state, uint64_t now_ns, size_t bytes);
// What the program's next run is to hold from its beginning: what would have gained most if it had been held all the
// time; or what was, or more, for three quarters of the time since there was anything to hold, if that is more. What it
// held for a phase alone it would carry into phases that it is no good for.
INTERNAL size_t retention_to_begin_with(const struct retention *state);

#endif

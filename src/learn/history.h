// What became of learning, over time: bounded, however long the process runs. Under learn_lock.
//
// A look may leave a row. When there is no room every second row goes, and the next ones come at least so far apart
// that the room is full again once the process has run for twice as long: the newest half of them covers about half of
// its life. Of the changes of state the newest are kept, and all are counted.
#ifndef LEARN_HISTORY_H
#define LEARN_HISTORY_H

#include "learn/tournament.h"
#include "policy/evolution.h"

struct history_row {
    uint64_t at_ns; // since learning began, as everywhere here
    size_t in_use_bytes;
    size_t retained_bytes;
    size_t stacked_bytes; // free blocks that threads keep, and those on their way between them
    uint64_t batches;     // moved so far
    // In force:
    size_t thread_bytes;
    size_t allowance_least;
    size_t purge_delay;
    size_t big_threshold;
    uint16_t ratings[TOURNAMENT_ARMS]; // of the tournament's arms; 0: it is not played
    uint8_t state;                     // enum evolution_state
};

struct history_change {
    uint64_t at_ns;
    uint8_t state;  // enum evolution_state, the new one
    uint8_t reason; // enum evolution_reason
};

struct history {
    uint64_t apart_ns; // rows, at least
    unsigned row_count;
    unsigned change_count;               // so far; number i is at i % HISTORY_CHANGES
    unsigned reasons[EVOLUTION_REASONS]; // changes by reason
    struct history_change last[HISTORY_CHANGES];
    struct history_row rows[HISTORY_ROWS];
};

// Empty, in LEARN from time 0 on.
INTERNAL void history_start(struct history *history);
INTERNAL bool history_is_due(const struct history *history, uint64_t at_ns);
INTERNAL void history_note(struct history *history, const struct history_row *row);
INTERNAL void history_note_change(struct history *history, uint64_t at_ns, const struct evolution *now);
INTERNAL void history_copy(struct history *to, const struct history *from);
// Words for states and reasons.
INTERNAL const char *history_state_word(unsigned state);
INTERNAL const char *history_reason_word(unsigned reason);

#endif

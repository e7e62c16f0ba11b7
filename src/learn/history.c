// What became of learning, over time.
#include "learn/history.h"

#include <string.h>

_Static_assert(HISTORY_ROWS % 2 == 0 && HISTORY_ROWS >= 4, "halved");

static const char *const state_words[] = {
    [EVOLUTION_LEARN] = "LEARN", [EVOLUTION_CANARY] = "CANARY", [EVOLUTION_FROZEN] = "FROZEN"};
static const char *const reason_words[EVOLUTION_REASONS] = {
    [EVOLUTION_BEGUN] = "begun",       [EVOLUTION_STILL] = "still", [EVOLUTION_RESTLESS] = "restless",
    [EVOLUTION_NO_WORSE] = "no_worse", [EVOLUTION_WORSE] = "worse", [EVOLUTION_SLOWER] = "slower",
    [EVOLUTION_DEARER] = "dearer",     [EVOLUTION_OTHER] = "sizes",
};

void history_start(struct history *history) {
    const struct evolution begun = {.state = EVOLUTION_LEARN, .reason = EVOLUTION_BEGUN};
    history->apart_ns = 0;
    history->row_count = 0;
    history->change_count = 0;
    memset(history->reasons, 0, sizeof history->reasons);
    history_note_change(history, 0, &begun);
}

bool history_is_due(const struct history *history, uint64_t at_ns) {
    return history->row_count == 0 || at_ns - history->rows[history->row_count - 1].at_ns >= history->apart_ns;
}

// The first row stays for good.
static void history_halve(struct history *history) {
    uint64_t span_ns = history->rows[HISTORY_ROWS - 1].at_ns - history->rows[0].at_ns;
    history->row_count = HISTORY_ROWS / 2;
    history->apart_ns = span_ns / history->row_count;
    for (unsigned i = 1; i < history->row_count; i++)
        history->rows[i] = history->rows[2 * i];
}

void history_note(struct history *history, const struct history_row *row) {
    if (history->row_count == HISTORY_ROWS)
        history_halve(history);
    history->rows[history->row_count++] = *row;
}

void history_note_change(struct history *history, uint64_t at_ns, const struct evolution *now) {
    history->last[history->change_count++ % HISTORY_CHANGES] =
        (struct history_change){at_ns, (uint8_t)now->state, (uint8_t)now->reason};
    history->reasons[now->reason]++;
}

void history_copy(struct history *to, const struct history *from) {
    memcpy(to, from, offsetof(struct history, rows) + from->row_count * sizeof from->rows[0]);
}

const char *history_state_word(unsigned state) {
    return state_words[state];
}

const char *history_reason_word(unsigned reason) {
    return reason_words[reason];
}

// Says what learning did, and which decisions are in force.
#include "api/learning.h"

#include "slab/size_class.h"

#define NS_PER_MS 1000000

void learning_fill(const struct learn_told *told, struct hakmem_stats *full) {
    if (!told->learns)
        return;
    full->learn_state = 1 + (uint64_t)told->state;
    full->learn_run_ns = told->run_ns;
    full->learn_looks = told->looks;
    full->learn_look_ns = told->look_ns;
    full->learn_changes = told->changes;
    full->learn_promoted = told->history.reasons[EVOLUTION_NO_WORSE];
    full->learn_rolled_back = told->history.reasons[EVOLUTION_WORSE];
    full->learn_anew = told->history.reasons[EVOLUTION_SLOWER] + told->history.reasons[EVOLUTION_DEARER] +
                       told->history.reasons[EVOLUTION_OTHER];
    full->learn_windows = told->windows;
    full->learn_seen_blocks = told->seen_blocks;
    full->learn_fault_ns = told->page.fault_ns;
    full->learn_purge_ns = told->page.purge_ns;
    full->learn_trial_ns = told->trial_ns;
}

// --- Decisions in force ----------------------------------------------------------------------------------------------

// All decisions stand in a row.
static size_t value_in_force(const struct decision_row *row) {
    const size_t *fields = (const size_t *)(const void *)snapshot_now();
    return load_relaxed(&fields[row->offset / sizeof *fields]);
}

static bool has_other_depth(unsigned class_index, unsigned *depth) {
    *depth = DECIDED(depth[class_index]);
    return *depth != snapshot_usual_depth(class_bytes(class_index)) && size_class_is_open(class_index);
}

static bool is_own(unsigned class_index) {
    return class_is_spare(class_index) && size_class_is_open(class_index);
}

static bool is_closed(unsigned class_index) {
    return !class_is_spare(class_index) && !size_class_is_open(class_index);
}

static void json_classes(struct report *report, const char *name, bool (*has)(unsigned class_index)) {
    const char *separator = "";
    report_text(report, ", \"");
    report_text(report, name);
    report_text(report, "\": [");
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        if (!has(i))
            continue;
        report_text(report, separator);
        report_number(report, class_bytes(i));
        separator = ", ";
    }
    report_text(report, "]");
}

static void json_depths(struct report *report) {
    const char *separator = "\n";
    unsigned depth;
    report_text(report, ", \"depth\": [");
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        if (!has_other_depth(i, &depth))
            continue;
        report_text(report, separator);
        report_text(report, "    {");
        report_member(report, "block_bytes", class_bytes(i), ", ");
        report_member(report, "depth", depth, "}");
        separator = ",\n";
    }
    report_text(report, "]");
}

static void json_decisions(struct report *report) {
    const char *separator = "";
    report_text(report, ",\n  \"decisions\": {\"value\": {");
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        size_t value = value_in_force(&decision_rows[i]);
        if (value == decision_rows[i].initial)
            continue;
        report_text(report, separator);
        report_member(report, decision_rows[i].name, value, "");
        separator = ", ";
    }
    report_text(report, "}");
    json_classes(report, "class", is_own);
    json_classes(report, "close", is_closed);
    json_depths(report);
    report_text(report, "}");
}

// --- Learning --------------------------------------------------------------------------------------------------------

static void json_word(struct report *report, const char *name, const char *word, const char *end) {
    report_text(report, "\"");
    report_text(report, name);
    report_text(report, "\": \"");
    report_text(report, word);
    report_text(report, "\"");
    report_text(report, end);
}

static void json_row(struct report *report, const struct history_row *row) {
    report_text(report, "      {");
    report_member(report, "ms", row->at_ns / NS_PER_MS, ", ");
    json_word(report, "state", history_state_word(row->state), ", ");
    report_member(report, "in_use_bytes", row->in_use_bytes, ", ");
    report_member(report, "retained_bytes", row->retained_bytes, ", ");
    report_member(report, "stacked_bytes", row->stacked_bytes, ", ");
    report_member(report, "batches", row->batches, ", ");
    report_member(report, "thread_bytes", row->thread_bytes, ", ");
    report_member(report, "allowance_least", row->allowance_least, ", ");
    report_member(report, "purge_delay", row->purge_delay, ", ");
    report_member(report, "big_threshold", row->big_threshold, "");
    for (unsigned i = 0; i < TOURNAMENT_ARMS && row->ratings[0] != 0; i++) {
        report_text(report, i == 0 ? ", \"ratings\": [" : ", ");
        report_number(report, row->ratings[i]);
    }
    report_text(report, row->ratings[0] != 0 ? "]}" : "}");
}

static void json_changes(struct report *report, const struct history *history) {
    unsigned first = history->change_count > HISTORY_CHANGES ? history->change_count - HISTORY_CHANGES : 0;
    for (unsigned i = first; i < history->change_count; i++) {
        const struct history_change *change = &history->last[i % HISTORY_CHANGES];
        report_text(report, i == first ? "\n      {" : ",\n      {");
        report_member(report, "ms", change->at_ns / NS_PER_MS, ", ");
        json_word(report, "state", history_state_word(change->state), ", ");
        json_word(report, "reason", history_reason_word(change->reason), "}");
    }
}

static void json_learning(struct report *report, const struct learn_told *told) {
    const struct history *history = &told->history;
    report_text(report, ",\n  \"learning\": {");
    json_word(report, "state", history_state_word(told->state), ",\n    \"reasons\": {");
    for (unsigned i = 0; i < EVOLUTION_REASONS; i++)
        report_member(report, history_reason_word(i), history->reasons[i], i + 1 < EVOLUTION_REASONS ? ", " : "},\n");
    report_text(report, "    \"thresholds\": [");
    for (unsigned i = 0; i < TOURNAMENT_ARMS; i++) {
        report_text(report, i == 0 ? "" : ", ");
        report_number(report, tournament_threshold(i));
    }
    report_text(report, "],\n    \"changes\": [");
    json_changes(report, history);
    report_text(report, "],\n    \"history\": [");
    for (unsigned i = 0; i < history->row_count; i++) {
        report_text(report, i == 0 ? "\n" : ",\n");
        json_row(report, &history->rows[i]);
    }
    report_text(report, "]}");
}

void learning_say_json(struct report *report, const struct learn_told *told) {
    json_decisions(report);
    if (told->learns)
        json_learning(report, told);
}

// --- As text ---------------------------------------------------------------------------------------------------------

static void text_count(struct report *report, const char *before, uint64_t count, const char *after) {
    report_text(report, before);
    report_number(report, count);
    report_text(report, after);
}

static void text_learning(struct report *report, const struct learn_told *told) {
    const unsigned *reasons = told->history.reasons;
    uint64_t share = told->run_ns > 0 ? told->look_ns * 10000 / told->run_ns : 0; // in ten thousandths
    report_text(report, "learning: ");
    report_text(report, history_state_word(told->state));
    text_count(report, " after ", told->run_ns / NS_PER_MS, " ms; ");
    text_count(report, "", told->looks, " looks took ");
    text_count(report, "", share / 100, share % 100 < 10 ? ".0" : ".");
    text_count(report, "", share % 100, " % of the time, ");
    text_count(report, "", told->changes, " of them decided something\n");
    text_count(report, "  tried and kept ", reasons[EVOLUTION_NO_WORSE], ", ");
    text_count(report, "given up ", reasons[EVOLUTION_WORSE], "; ");
    text_count(report, "learned anew for slower calls ", reasons[EVOLUTION_SLOWER], ", ");
    text_count(report, "higher cost ", reasons[EVOLUTION_DEARER], ", ");
    text_count(report, "other sizes ", reasons[EVOLUTION_OTHER], "; ");
    text_count(report, "", told->windows, " sampling windows saw ");
    text_count(report, "", told->seen_blocks, " requests\n");
}

static void text_decision(struct report *report, const char *name, const char **separator) {
    report_text(report, *separator);
    report_text(report, name);
    *separator = "; ";
}

static void text_decisions(struct report *report) {
    const char *separator = "not the default: ";
    unsigned depth, depths = 0;
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        const struct decision_row *row = &decision_rows[i];
        size_t value = value_in_force(row);
        if (value == row->initial)
            continue;
        text_decision(report, row->name, &separator);
        text_count(report, " ", value, "");
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        depths += has_other_depth(i, &depth);
        if (!is_own(i) && !is_closed(i))
            continue;
        text_decision(report, is_own(i) ? "class" : "close", &separator);
        text_count(report, " ", class_bytes(i), "");
    }
    if (depths > 0) {
        text_decision(report, "depths of", &separator);
        text_count(report, " ", depths, " classes");
    }
    report_text(report, separator[0] == ';' ? "\n" : "");
}

void learning_say_text(struct report *report, const struct learn_told *told) {
    if (told->learns)
        text_learning(report, told);
    text_decisions(report);
}

// When groups are collapsed: a few at once, again after a pause while there are more, and only what the budget allows.
#include "unit/unit.h"

#include "learn/collapsing.h"
#include "learn/learn.h"
#include "learn/next_run.h"
#include "region/groups.h"
#include "region/huge.h"
#include "region/runs.h"

enum { GROUPS = 7 }; // fewer than a dense heap has
static const uint64_t busy_for_long_ns = 1000 * SECOND_NS;

static int start(void **state) {
    (void)state;
    os_start();
    collapsing_begin_life();
    return window_start() && runs_start() ? 0 : -1;
}

// Groups of one large block each.
static void fill_groups(void) {
    bool zeroed;
    for (unsigned i = 0; i < GROUPS; i++) {
        size_t first = runs_take(GROUP_SLICES - 1, 1, &zeroed), last = runs_take(1, 1, &zeroed);
        MUST(last == first + GROUP_SLICES - 1); // no block holds a group as a whole, which would be huge at once
        for (size_t slice = first; slice <= last; slice++)
            store_relaxed(&window.info[slice], SLICE_RUN_INSIDE);
        memset(window_address(first), 1, GROUP_BYTES);
    }
}

static unsigned count_huge(void) {
    unsigned huge = 0;
    for (size_t number = 0; number < group_count; number++)
        huge += groups[number].is_huge;
    return huge;
}

static void go_on(uint64_t busy_ns) {
    collapsing_go_on(learn_now_ns(), busy_ns, GROUPS * GROUP_BYTES);
}

static void a_few_at_once_until_none_is_left(void *context) {
    (void)context;
    fill_groups();
    MUST(count_huge() == 0 && !collapsing_is_due(learn_now_ns() + SECOND_NS));
    go_on(busy_for_long_ns);
    if (collapsing_spent_ns() == 0 || count_huge() == 1)
        return; // this kernel can only be told
    MUST(count_huge() == COLLAPSE_MOST_GROUPS && collapsing_pays());
    MUST(!collapsing_is_due(learn_now_ns()) && collapsing_is_due(learn_now_ns() + COLLAPSE_PAUSE_NS));
    for (unsigned turn = 0; turn < GROUPS; turn++)
        go_on(busy_for_long_ns);
    MUST(count_huge() == GROUPS - 1);                     // the newest is evidence
    MUST(!collapsing_is_due(learn_now_ns() + SECOND_NS)); // there are no more
}

static void what_was_spent_has_to_be_earned(void *context) {
    (void)context;
    fill_groups();
    go_on(0);
    MUST(count_huge() == 0 && collapsing_spent_ns() == 0 && !collapsing_pays());
    go_on((uint64_t)COLLAPSE_COST_NS * COLLAPSE_SHARE); // of one turn
    MUST(count_huge() > 0 && count_huge() <= COLLAPSE_MOST_GROUPS && collapsing_spent_ns() > 0);
    unsigned before = count_huge();
    go_on((uint64_t)COLLAPSE_COST_NS * COLLAPSE_SHARE);
    MUST(count_huge() == before);
}

static void another_life_begins_with_nothing_spent(void *context) {
    (void)context;
    fill_groups();
    go_on(busy_for_long_ns);
    collapsing_begin_life();
    MUST(collapsing_spent_ns() == 0 && !collapsing_pays() && !collapsing_is_due(learn_now_ns() + SECOND_NS));
    collapsing_try_at(7);
    MUST(!collapsing_is_due(6) && collapsing_is_due(7));
}

static const struct policy_value *decide(struct policy *learned) {
    next_run_decide(learned);
    return &learned->values[DECISION_collapse];
}

static void what_was_worth_it_is_left_to_the_next_run(void *context) {
    static struct policy learned;
    (void)context;
    MUST(!decide(&learned)->is_given);
    fill_groups();
    for (unsigned turn = 0; turn < GROUPS; turn++)
        go_on(busy_for_long_ns);
    MUST(decide(&learned)->is_given == collapsing_pays());
    if (!collapsing_pays())
        return; // this kernel can only be told
    MUST(decide(&learned)->value == 1 && strcmp(decide(&learned)->evidence.why, "resident") == 0);
    collapsing_begin_life(); // which collapses nothing
    MUST(!decide(&learned)->is_given);
    learned.values[DECISION_collapse] = (struct policy_value){.is_given = true, .value = 1};
    MUST(decide(&learned)->is_given); // somebody wrote it
}

IN_A_CHILD(what_was_worth_it_is_left_to_the_next_run)
IN_A_CHILD(a_few_at_once_until_none_is_left)
IN_A_CHILD(what_was_spent_has_to_be_earned)
IN_A_CHILD(another_life_begins_with_nothing_spent)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_worth_it_is_left_to_the_next_run),
        cmocka_unit_test(test_a_few_at_once_until_none_is_left),
        cmocka_unit_test(test_what_was_spent_has_to_be_earned),
        cmocka_unit_test(test_another_life_begins_with_nothing_spent),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}

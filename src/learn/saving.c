// Saves what was learned: each time what is not in the file yet.
#include "learn/saving.h"

#include <errno.h>

#include "learn/file.h"
#include "learn/learn.h"
#include "learn/rules.h"
#include "sys/options.h"

static struct {
    struct policy policy; // of whoever has set `by`, as `file.c`'s and `rules.c`'s buffers are
    uint32_t by;          // the process that saves; 0: nobody
    uint64_t seconds;     // of processor time that the file has
    bool has_run;         // it has this process
} saving;
INTERNAL uint32_t saving_is_wanted;

void saving_begin_life(void) {
    saving.seconds = 0;
    saving.has_run = false;
}

// One thread at a time. What a fork child finds of its parent's means nothing.
static bool begin_saving(void) {
    uint32_t process = os_process_id(), before = load_relaxed(&saving.by);
    // acquire: pairs with end_saving: who did it before is done with all of it
    return before != process && swap_acquire(&saving.by, before, process);
}

static void end_saving(void) {
    store_release(&saving.by, 0u); // release: pairs with begin_saving
}

// Of this process, in so far as it is not in the file.
static void note_process(struct policy *policy) {
    uint64_t seconds = os_process_ns() * LEARN_HASTE / SECOND_NS; // asleep nothing is learned
    file_name_program(policy);
    policy->runs = !saving.has_run;
    policy->seconds = seconds - saving.seconds;
}

// The file has it now.
static void count_as_saved(const struct policy *policy) {
    saving.has_run = true;
    saving.seconds += policy->seconds;
}

static bool may_save(int *error) {
    // A hint. And a process that has confined itself may be killed for what writing takes.
    *error = load_relaxed(&learn_is_on) != LEARN_ON || options.policy[0] == '\0' ? ENOTSUP
             : os_is_confined()                                                  ? EPERM
                                                                                 : 0;
    return *error == 0;
}

// Names: of modules that site rules are for.
static int save(enum learn_notes when, bool names) {
    if (!begin_saving())
        return EBUSY;
    int error = learn_note(&saving.policy, when);
    if (error == 0) {
        note_process(&saving.policy);
        if (names)
            rules_add_noted(&saving.policy);
        file_write(&saving.policy);
        error = file_error();
        if (error == 0)
            count_as_saved(&saving.policy);
        if (when == LEARN_NOTES_AT_END && !learn_is_childs())
            file_say_not_written(&saving.policy);
    }
    end_saving();
    return error;
}

int learn_save(void) {
    int error;
    learn_start();
    return may_save(&error) ? save(LEARN_NOTES_MEANWHILE, true) : error;
}

void learn_end(void) {
    int error;
    if (!may_save(&error))
        return;
    // Another thread's is over soon, unless this one interrupted it and ends the program.
    for (unsigned slept = 0; load_relaxed(&saving.by) == os_process_id() && slept < FILE_PATIENCE_MS * 1000;
         slept += FORK_SLEEP_US)
        os_sleep(FORK_SLEEP_US);
    save(LEARN_NOTES_AT_END, true);
}

// Inside of a call for memory: modules are not named there, whose lock somebody may have who waits for a lock that our
// caller has.
void saving_obey_slow(void) {
    uint32_t wanted = 1;
    int error;
    if (swap_relaxed(&saving_is_wanted, wanted, 0u) && may_save(&error)) // order: one of those who look does it
        save(LEARN_NOTES_MEANWHILE, false);
}

static void want_saving(int number) {
    (void)number;
    store_relaxed(&saving_is_wanted, 1u); // of whoever looks next
}

void saving_start(void) {
    if (options.policy_signal != 0 && !os_handle_signal((int)options.policy_signal, want_saving))
        file_say_signal((unsigned)options.policy_signal);
}

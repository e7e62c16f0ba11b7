// Replays a trace on the library itself, by the trace's own clock, and says what its decisions do to the program that
// was recorded: batches, rounding, memory held, and what that costs by the one formula (policy/cost.h).
//
// usage: policy-replay TRACE [--partial] [--seconds S] [--policy FILE] [--output FILE]
//   --seconds  how long the program takes when it is not recorded, which makes it slower
//   --policy   begins with what the file decided, whatever program it is of
//   --output   writes what was learned; the option mode (HAKMEM_MODE) says whether anything is
//
// The library is compiled in under its own names: the decisions are taken by the code that takes them in a program, at
// the times at which it would. All threads of the trace are one thread here. Each has its heap, and before a call the
// thread-local pointer of the variant for dlopen is set to that of its thread. Blocks are hardly ever written to, so
// memory is addresses, and a trace of a large program fits a small machine.
//
// Not known from a trace: how long calls take, and which pages the program touches. So latencies count for nothing,
// page faults are those of memory that was purged and used again, and all that is asked for is taken to be touched.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

// What stands in for the system: the trace's clock; no faults, which says that they are not known; no thread but the
// one; all pages touched; and none of them large, since those of a large page that are written to take memory.
static int trace_clock_read(clockid_t clock, struct timespec *now);
static int trace_faults_read(struct rusage *usage);
static int trace_refuse_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                               void *argument);
#define clock_gettime(clock, now) trace_clock_read(clock, now)
#define getrusage(who, usage) trace_faults_read(usage)
#define pthread_create trace_refuse_thread
static int trace_look_resident(unsigned char *resident, size_t bytes);
static int trace_advise(void *address, size_t bytes, int advice);
#define mincore(address, bytes, resident) trace_look_resident(resident, bytes)
#define madvise trace_advise
#define HAKMEM_NO_OVERRIDE
#define HAKMEM_TLS_POINTER
#include "all.c"

#include "merge.h"

#define MOMENTS 1000u // at which the heap is looked at, spread over the trace
#define MOMENT_LEAST_NS MS_NS
#define POLICY_TEXT_BYTES (1u << 20)
#define FIRST_BLOCKS 4096u
#define HELPER_TURNS 64u       // in a stretch without calls: after these nothing changes any more
#define ASLEEP_NS (10 * MS_NS) // a longer stretch without calls is taken for sleep: what the program did is not known

struct replayed_block {
    void *address;
    uint64_t asked_bytes;
    uint64_t usable_bytes;
};

// A level, weighted by time.
struct level {
    double byte_seconds;
    uint64_t peak_bytes;
};

static struct {
    struct trace trace;
    struct merge merge;
    double speed;            // of its clock: 1 as it was recorded
    struct stacks **threads; // what the thread-local pointer of each is
    struct replayed_block *blocks;
    size_t block_room;
    uint64_t refused; // calls that got no block
    uint64_t asked_bytes, usable_bytes;
    struct level asked, rounding, stacks, held;
    double seconds, spent_ns, memory_ns; // so far; by the formula
    uint64_t moment_ns, next_moment_ns;
    struct observation last;
    uint64_t in_windows[SIZES_KINDS], in_trace[SIZES_KINDS]; // requests by kind
    uint64_t windows;
} replay;

static uint64_t replay_now_ns = SECOND_NS; // 0 means never to some

static uint64_t replay_slept_ns;

static int trace_clock_read(clockid_t clock, struct timespec *now) {
    uint64_t ns = replay_now_ns - (clock == CLOCK_PROCESS_CPUTIME_ID ? replay_slept_ns : 0);
    *now = (struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};
    return 0;
}

static int trace_faults_read(struct rusage *usage) {
    *usage = (struct rusage){0};
    return 0;
}

static int trace_refuse_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                               void *argument) {
    (void)thread, (void)attributes, (void)run, (void)argument;
    return EAGAIN;
}

static int trace_look_resident(unsigned char *resident, size_t bytes) {
    memset(resident, 1, (bytes + os_facts.page_bytes - 1) / os_facts.page_bytes);
    return 0;
}

#undef madvise
static int trace_advise(void *address, size_t bytes, int advice) {
    return advice == MADV_DONTNEED ? madvise(address, bytes, advice) : 0;
}

static _Noreturn void refuse(const char *what, const char *file) {
    fprintf(stderr, "hakmem policy: %s: %s\n", file, what);
    exit(2);
}

// ---- levels

static void level_note(struct level *level, uint64_t bytes, double seconds) {
    level->byte_seconds += (double)bytes * seconds;
    if (level->peak_bytes < bytes)
        level->peak_bytes = bytes;
}

static void note_cost_of_moment(const struct observation *seen, double seconds) {
    static struct cost_seen past;
    static uint32_t sizes[CLASS_END];
    size_t held = seen->in_use_bytes + seen->retained_bytes;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        const struct observed_class *now = &seen->classes[i], *then = &replay.last.classes[i];
        past.batches[i] = now->refills + now->flushes - then->refills - then->flushes;
        sizes[i] = (uint32_t)class_bytes(i);
    }
    past.price = options.memory_price;
    past.elapsed_ns = seen->now_ns - replay.last.now_ns;
    past.refaulted_bytes = seen->refaulted_bytes - replay.last.refaulted_bytes;
    past.purged_bytes = seen->purged_bytes - replay.last.purged_bytes;
    past.idle_bytes = 0;
    double spent = cost_of_window(&past, sizes) * seconds;
    past.idle_bytes = held > replay.usable_bytes ? held - replay.usable_bytes : 0;
    replay.spent_ns += spent;
    replay.memory_ns += cost_of_window(&past, sizes) * seconds - spent;
}

// Looks at the heap, from the first thread.
static void note_moment(void) {
    static struct observation seen;
    thread_stacks_pointer = replay.threads[0];
    struct heap *heap = heap_enter();
    observe(&seen, replay_now_ns);
    heap_leave(heap);
    double seconds = (double)(seen.now_ns - replay.last.now_ns) / 1e9;
    level_note(&replay.stacks, seen.cached_bytes, seconds);
    level_note(&replay.held, seen.in_use_bytes + seen.retained_bytes, seconds);
    note_cost_of_moment(&seen, seconds);
    replay.last = seen;
    replay.next_moment_ns = replay_now_ns + replay.moment_ns;
}

// ---- time

// What the helper thread does (option purge_delay), in the time without calls up to now.
static void help(uint64_t until_ns) {
    static uint64_t next_ns; // 0: there is none
    static struct helper_turn turn;
    thread_stacks_pointer = replay.threads[0];
    if (next_ns == 0 && DECIDED(purge_delay) != 0 && runs_held_bytes() > DECIDED(retain_min)) {
        helper_state = HELPER_RUNS;
        turn = (struct helper_turn){0};
        runs_take_extremes(RETAIN_HELPER);
        next_ns = replay_now_ns + helper_next(&turn) * MS_NS;
    }
    for (unsigned turns = 0; next_ns != 0 && next_ns <= until_ns; turns++) {
        size_t slept = helper_next(&turn);
        replay_now_ns = next_ns;
        struct heap *heap = heap_enter();
        helper_do(&turn, slept);
        bool wanted = is_wanted();
        heap_leave(heap);
        next_ns = (turns < HELPER_TURNS ? next_ns : until_ns) + helper_next(&turn) * MS_NS;
        if (!wanted) {
            next_ns = 0;
            helper_state = HELPER_NONE;
        }
    }
}

// Seconds of the program from its start to a time of the trace.
static double seconds_to(uint64_t ticks) {
    uint64_t start = replay.trace.end.start_ticks;
    return ticks > start ? trace_seconds(&replay.trace, ticks - start) / replay.speed : 0;
}

static void pass_time(uint64_t ticks) {
    uint64_t now = SECOND_NS + (uint64_t)(seconds_to(ticks) * 1e9);
    if (now <= replay_now_ns) // a realloc of another thread is over
        return;
    double seconds = (double)(now - replay_now_ns) / 1e9;
    level_note(&replay.asked, replay.asked_bytes, seconds);
    level_note(&replay.rounding, replay.usable_bytes - replay.asked_bytes, seconds);
    replay.seconds += seconds;
    uint64_t passed_ns = now - replay_now_ns;
    help(now);
    replay_slept_ns += passed_ns > ASLEEP_NS ? passed_ns : 0;
    replay_now_ns = now;
}

// ---- calls

// Space for the block of a place.
static struct replayed_block *block_at(uint32_t place) {
    if (place >= replay.block_room) {
        size_t room = replay.block_room == 0 ? FIRST_BLOCKS : replay.block_room;
        while (room <= place)
            room *= 2;
        replay.blocks =
            memory_grow(replay.blocks, replay.block_room * sizeof *replay.blocks, room * sizeof *replay.blocks);
        replay.block_room = room;
    }
    return &replay.blocks[place];
}

static void note_block(struct replayed_block *block, void *address, uint64_t bytes) {
    replay.refused += address == NULL;
    uint64_t usable = call_usable_bytes(address);
    *block = (struct replayed_block){address, usable < bytes ? usable : bytes, usable};
    replay.asked_bytes += block->asked_bytes;
    replay.usable_bytes += block->usable_bytes;
}

static void forget_block(struct replayed_block *block) {
    replay.asked_bytes -= block->asked_bytes;
    replay.usable_bytes -= block->usable_bytes;
    *block = (struct replayed_block){0};
}

// What malloc and calloc do with the size, without the zeroing.
static void *take_plain(const struct step *step) {
    bool zeroed;
    if (step->bytes > CLASS_LARGE_MAX)
        return call_malloc_big(step->bytes, step->site);
    if (step->kind == STEP_TAKE_ZEROED && step->bytes > CLASS_FINE_MAX)
        return take_zeroed(step->bytes, step->site, &zeroed);
    return call_malloc(step->bytes);
}

// Of a request that a sampling window sees, or not.
static void note_size(const struct step *step) {
    const struct heap *heap = thread_stacks.heap;
    if (step->bytes > CLASS_LARGE_MAX)
        return;
    replay.in_trace[sizes_kind(step->bytes)]++;
    replay.in_windows[sizes_kind(step->bytes)] += heap != NULL && heap_is_sampling(heap);
}

static void make_call(const struct step *step) {
    struct replayed_block *block = block_at(step->place);
    void *address = block->address;
    const struct heap *heap = thread_stacks.heap;
    bool was_sampling = heap != NULL && heap_is_sampling(heap);
    switch (step->kind) {
    case STEP_TAKE:
    case STEP_TAKE_ZEROED:
        note_size(step);
        note_block(block, take_plain(step), step->bytes);
        break;
    case STEP_TAKE_ALIGNED:
        note_block(block, call_aligned(step->bytes, (size_t)1 << step->block->align_log2), step->bytes);
        break;
    case STEP_MOVE:
        forget_block(block);
        note_block(block, realloc_otherwise(address, step->bytes > 0 ? step->bytes : 1, step->site), step->bytes);
        break;
    case STEP_GIVE:
        forget_block(block);
        call_free(address);
        break;
    }
    heap = thread_stacks.heap;
    replay.windows += !was_sampling && heap != NULL && heap_is_sampling(heap);
}

// A trace does not say when a thread ends; after its last call it holds nothing that anybody misses. The first one
// lasts as long as the program.
static void end_thread_if_through(uint32_t thread) {
    bool is_through = trace_cursor_ticks(&replay.merge.cursors[thread]) == UINT64_MAX;
    if (thread == 0 || !is_through || thread_stacks.heap == NULL)
        return;
    registry_thread_ended(thread_stacks.heap);
    replay.threads[thread] = thread_stacks_pointer;
}

static void say_progress(void) {
    static uint64_t said;
    uint64_t percent = replay.merge.steps * 100 / (replay.trace.end.events + 1);
    if (percent <= said || percent >= 100)
        return;
    said = percent;
    fprintf(stderr, "progress %llu\n", (unsigned long long)percent);
}

static void replay_all(void) {
    struct step step;
    uint64_t last = trace_last_ticks(&replay.trace);
    registry.first_thread = 0; // else a second thread would take the heap of the first, as if it had lost its own
    replay.threads = memory_map((replay.trace.thread_count + 1) * sizeof *replay.threads);
    for (uint32_t i = 1; i < replay.trace.thread_count; i++)
        replay.threads[i] = &stacks_not_started;
    replay.threads[0] = thread_stacks_pointer; // the library's constructor ran on it
    replay.moment_ns = (uint64_t)(seconds_to(last) * 1e9 / MOMENTS);
    replay.moment_ns = replay.moment_ns < MOMENT_LEAST_NS ? MOMENT_LEAST_NS : replay.moment_ns;
    replay.last.now_ns = replay_now_ns;
    merge_start(&replay.merge, &replay.trace, 0);
    while (merge_next(&replay.merge, &step)) {
        pass_time(step.ticks);
        thread_stacks_pointer = replay.threads[step.thread];
        make_call(&step);
        replay.threads[step.thread] = thread_stacks_pointer;
        end_thread_if_through(step.thread);
        if (replay_now_ns >= replay.next_moment_ns)
            note_moment();
        if (replay.merge.steps % 4096 == 0)
            say_progress();
    }
    pass_time(last);
    note_moment();
    fprintf(stderr, "progress 100\n");
}

// ---- policy files

static void begin_with(const char *path) {
    static char text[POLICY_TEXT_BYTES];
    struct policy_fault fault;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        refuse("it can't be read", path);
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    if (!policy_parse(text, length, &learned, &fault))
        refuse(fault.what, path);
    decide_take_policy();
    put_in_force(&decided);
}

// The executable is mapped lowest.
static void name_traced_program(void) {
    if (replay.trace.modules == NULL)
        return;
    char *text = (char *)trace_unpack(&replay.trace, replay.trace.modules);
    char *path = strchr(text, '/');
    char *end = path != NULL ? strchr(path, '\n') : NULL;
    if (end != NULL) {
        *end = '\0';
        const char *name = strrchr(path, '/') + 1;
        snprintf(learned.program, sizeof learned.program, "%s", name);
        make_word(learned.program);
    }
    trace_unpack_free((uint8_t *)text);
}

// As at the end of a program (learn_end), but for the file's being that of another one.
static void write_learned(const char *path) {
    static char text[POLICY_TEXT_BYTES];
    struct report report;
    bool soon;
    if (learner.looks > 0) {
        thread_stacks_pointer = replay.threads[0];
        struct heap *heap = heap_enter();
        observe(&learner.seen, replay_now_ns);
        if (cycle_learns())
            decide_step(&learner.seen, &soon);
        heap_leave(heap);
        decide_note(replay_now_ns);
    }
    name_traced_program();
    learned.runs = 1;
    learned.seconds = (uint64_t)replay.seconds;
    report_to_memory(&report, text, sizeof text);
    say_policy(&report, &learned);
    report_end(&report);
    if (os_replace_file(path, text, report.length) != 0)
        refuse("it can't be written", path);
}

// ---- JSON

static void print_level(const char *name, const struct level *level) {
    printf(",\"%s_mean_bytes\":%.0f,\"%s_peak_bytes\":%llu", name,
           replay.seconds > 0 ? level->byte_seconds / replay.seconds : 0, name, (unsigned long long)level->peak_bytes);
}

static void print_kinds(const char *name, const uint64_t *kinds) {
    printf(",\"%s\":[", name);
    for (unsigned i = 0; i < SIZES_KINDS; i++)
        printf("%s%llu", i == 0 ? "" : ",", (unsigned long long)kinds[i]);
    printf("]");
}

static void print_batches(void) {
    struct observed_class sum = {0};
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        sum.refills += replay.last.classes[i].refills;
        sum.refilled_blocks += replay.last.classes[i].refilled_blocks;
        sum.flushes += replay.last.classes[i].flushes;
        sum.flushed_blocks += replay.last.classes[i].flushed_blocks;
    }
    printf(",\"refills\":%llu,\"refilled_blocks\":%llu,\"flushes\":%llu,\"flushed_blocks\":%llu",
           (unsigned long long)sum.refills, (unsigned long long)sum.refilled_blocks, (unsigned long long)sum.flushes,
           (unsigned long long)sum.flushed_blocks);
}

// Of those that were used: what they moved, and how deep their stacks may be now.
static void print_classes(void) {
    const char *separator = "";
    printf(",\"classes\":[");
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        const struct observed_class *own = &replay.last.classes[i];
        if (own->refilled_blocks == 0)
            continue;
        printf("%s{\"block_bytes\":%zu,\"refills\":%llu,\"flushes\":%llu,\"depth\":%u}", separator, class_bytes(i),
               (unsigned long long)own->refills, (unsigned long long)own->flushes, snapshot_now()->depth[i]);
        separator = ",";
    }
    printf("]");
}

static void print_figures(void) {
    static const char *const states[] = {"LEARN", "CANARY", "FROZEN"};
    double seconds = replay.seconds > 0 ? replay.seconds : 1;
    printf("{\"seconds\":%.6f,\"calls\":%llu,\"threads\":%u,\"refused\":%llu", replay.seconds,
           (unsigned long long)replay.merge.steps, replay.trace.thread_count, (unsigned long long)replay.refused);
    print_batches();
    print_level("asked", &replay.asked);
    print_level("rounding", &replay.rounding);
    print_level("stacks", &replay.stacks);
    print_level("held", &replay.held);
    printf(",\"purged_bytes\":%llu,\"refaulted_bytes\":%llu", (unsigned long long)replay.last.purged_bytes,
           (unsigned long long)replay.last.refaulted_bytes);
    printf(",\"spent_ns_per_second\":%.0f,\"memory_ns_per_second\":%.0f,\"cost_ns_per_second\":%.0f",
           replay.spent_ns / seconds, replay.memory_ns / seconds, (replay.spent_ns + replay.memory_ns) / seconds);
    printf(",\"looks\":%u,\"state\":\"%s\",\"frozen\":%u,\"relearned\":%u,\"kept_old\":%u", learner.looks,
           load_relaxed(&learn_is_on) ? states[cycle.evolution.state] : "", cycle.evolution.frozen,
           cycle.evolution.relearned, cycle.evolution.kept_old);
    print_classes();
    printf(",\"windows\":%llu", (unsigned long long)replay.windows);
    print_kinds("sizes_in_trace", replay.in_trace);
    print_kinds("sizes_in_windows", replay.in_windows);
    print_kinds("sizes_seen", sizes_by_kind);
    printf("}\n");
}

static struct words {
    const char *trace, *policy, *out;
    double seconds; // 0: as recorded
    bool partial;
} read_words(int count, char **words) {
    struct words read = {0};
    for (int i = 1; i < count; i++) {
        bool has_next = i + 1 < count;
        if (strcmp(words[i], "--partial") == 0)
            read.partial = true;
        else if (strcmp(words[i], "--seconds") == 0 && has_next)
            read.seconds = strtod(words[++i], NULL);
        else if (strcmp(words[i], "--policy") == 0 && has_next)
            read.policy = words[++i];
        else if (strcmp(words[i], "--output") == 0 && has_next)
            read.out = words[++i];
        else if (read.trace == NULL)
            read.trace = words[i];
        else
            refuse("not understood", words[i]);
    }
    if (read.trace == NULL)
        refuse("[--partial] [--seconds S] [--policy FILE] [--output FILE]", "usage: policy-replay TRACE");
    return read;
}

int main(int count, char **words) {
    struct words read = read_words(count, words);
    trace_open(&replay.trace, read.trace, read.partial);
    replay.speed = 1;
    if (read.seconds > 0)
        replay.speed = seconds_to(trace_last_ticks(&replay.trace)) / read.seconds;
    if (read.policy != NULL)
        begin_with(read.policy);
    replay_all();
    print_figures();
    if (read.out != NULL)
        write_learned(read.out);
    return 0;
}

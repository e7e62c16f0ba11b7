// Says what is in a trace, as one line of JSON: sizes, lifetimes, sites, threads, and what lived when.
#define _GNU_SOURCE
#include "merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOMENTS 400u  // of the timeline
#define SIZE_STEPS 4u // classes between a power of two and the next
#define SIZE_CLASSES (64u * SIZE_STEPS)
#define LIFE_CLASSES 64u // by powers of two: of nanoseconds, and of bytes asked for meanwhile
#define SITES_SHOWN 100u
#define EXACT_SIZES 65536u // sizes counted one by one
#define EXACT_SHOWN 30u
#define THREADS_SHOWN 256u

struct sum {
    uint64_t count, bytes;
};

struct site {
    uint64_t address;
    uint64_t takes, bytes, moves;
    uint64_t given, given_elsewhere; // of its blocks, by another thread than the one that took them
    uint64_t live_bytes, live_blocks, peak_live_bytes;
    double life_seconds; // of those given, together
};

struct thread {
    uint64_t takes, gives, bytes, first_ticks, last_ticks;
};

static struct {
    struct trace trace;
    struct sum sizes[SIZE_CLASSES], exact[EXACT_SIZES];
    struct sum life_ns[LIFE_CLASSES], life_bytes[LIFE_CLASSES], never_given;
    uint64_t moment_bytes[MOMENTS], moment_blocks[MOMENTS];
    uint64_t takes, zeroed, aligned, moves, moves_up, gives, given_elsewhere;
    struct thread *threads;
    struct site *sites; // open addressing by address, 0: none
    size_t site_room, site_count;
} all;

static unsigned size_class(uint64_t bytes) {
    if (bytes < SIZE_STEPS)
        return (unsigned)bytes;
    unsigned log2 = 63 - (unsigned)__builtin_clzll(bytes);
    return log2 * SIZE_STEPS + (unsigned)(bytes >> (log2 - 2) & (SIZE_STEPS - 1));
}

static uint64_t size_class_low(unsigned index) {
    if (index < 2 * SIZE_STEPS)
        return index < SIZE_STEPS ? index : SIZE_STEPS;
    unsigned log2 = index / SIZE_STEPS;
    return (UINT64_C(1) << log2) + ((uint64_t)(index % SIZE_STEPS) << (log2 - 2));
}

static unsigned log2_of(uint64_t value) {
    return value == 0 ? 0 : 63 - (unsigned)__builtin_clzll(value);
}

static void sum_add(struct sum *sum, uint64_t bytes) {
    sum->count++;
    sum->bytes += bytes;
}

static struct site *site_find(struct site *sites, size_t room, uint64_t address) {
    size_t slot = (size_t)(address * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (room - 1);
    while (sites[slot].address != 0 && sites[slot].address != address)
        slot = (slot + 1) & (room - 1);
    return &sites[slot];
}

static struct site *site_of(uint64_t address) {
    if (2 * (all.site_count + 1) > all.site_room) {
        size_t room = all.site_room == 0 ? 4096 : 2 * all.site_room;
        struct site *sites = memory_map(room * sizeof *sites);
        for (size_t i = 0; i < all.site_room; i++)
            if (all.sites[i].address != 0)
                *site_find(sites, room, all.sites[i].address) = all.sites[i];
        memory_unmap(all.sites, all.site_room * sizeof *all.sites);
        all.sites = sites;
        all.site_room = room;
    }
    struct site *site = site_find(all.sites, all.site_room, address == 0 ? 1 : address);
    if (site->address == 0) {
        site->address = address == 0 ? 1 : address;
        all.site_count++;
    }
    return site;
}

static void site_lives(struct site *site, int64_t bytes, int blocks) {
    site->live_bytes += (uint64_t)bytes;
    site->live_blocks += (uint64_t)(int64_t)blocks;
    if (site->live_bytes > site->peak_live_bytes)
        site->peak_live_bytes = site->live_bytes;
}

static void count_take(const struct step *step) {
    struct site *site = site_of(step->site);
    sum_add(&all.sizes[size_class(step->bytes)], step->bytes);
    if (step->bytes < EXACT_SIZES)
        sum_add(&all.exact[step->bytes], step->bytes);
    all.takes++;
    all.zeroed += step->kind == STEP_TAKE_ZEROED;
    all.aligned += step->kind == STEP_TAKE_ALIGNED;
    all.threads[step->thread].takes++;
    all.threads[step->thread].bytes += step->bytes;
    site->takes++;
    site->bytes += step->bytes;
    site_lives(site, (int64_t)step->bytes, 1);
}

static void count_move(const struct step *step) {
    struct site *site = site_of(step->block->site); // a block stays with the place that took it
    all.moves++;
    all.moves_up += step->bytes > step->block->bytes;
    site->moves++;
    if (step->bytes > step->block->bytes)
        site->bytes += step->bytes - step->block->bytes;
    site_lives(site, (int64_t)step->bytes - (int64_t)step->block->bytes, 0);
}

static void count_give(const struct step *step, uint64_t bytes_taken) {
    const struct live_block *block = step->block;
    struct site *site = site_of(block->site);
    double seconds = trace_seconds(&all.trace, step->ticks - block->born_ticks);
    bool elsewhere = block->thread != step->thread;
    all.gives++;
    all.given_elsewhere += elsewhere;
    all.threads[step->thread].gives++;
    sum_add(&all.life_ns[log2_of((uint64_t)(seconds * 1e9))], block->bytes);
    sum_add(&all.life_bytes[log2_of(bytes_taken - block->born_bytes)], block->bytes);
    site->given++;
    site->given_elsewhere += elsewhere;
    site->life_seconds += seconds;
    site_lives(site, -(int64_t)block->bytes, -1);
}

static void count_all(struct merge *merge) {
    struct step step;
    uint64_t start = all.trace.end.start_ticks, end = trace_last_ticks(&all.trace);
    double scale = end > start ? MOMENTS / (double)(end - start) : 0;
    unsigned moment = 0;
    while (merge_next(merge, &step)) {
        struct thread *thread = &all.threads[step.thread];
        thread->first_ticks = thread->first_ticks == 0 ? step.ticks : thread->first_ticks;
        thread->last_ticks = step.ticks;
        if (step.kind == STEP_GIVE)
            count_give(&step, merge->bytes_taken);
        else if (step.kind == STEP_MOVE)
            count_move(&step);
        else
            count_take(&step);
        double at = step.ticks > start ? (double)(step.ticks - start) * scale : 0;
        for (unsigned now = at < MOMENTS ? (unsigned)at : MOMENTS - 1; moment < now;) { // what was stays until then
            moment++;
            all.moment_bytes[moment] = merge->live_bytes;
            all.moment_blocks[moment] = merge->live_blocks;
        }
        if (merge->live_bytes > all.moment_bytes[moment]) {
            all.moment_bytes[moment] = merge->live_bytes;
            all.moment_blocks[moment] = merge->live_blocks;
        }
    }
    while (++moment < MOMENTS) {
        all.moment_bytes[moment] = merge->live_bytes;
        all.moment_blocks[moment] = merge->live_blocks;
    }
    for (size_t i = 0; i < merge->block_count; i++)
        if (merge->blocks[i].address != 0)
            sum_add(&all.never_given, merge->blocks[i].bytes);
}

// ---- JSON

static void print_string(const uint8_t *text, size_t length, bool zero_is_space) {
    putchar('"');
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = text[i] == '\0' && zero_is_space ? ' ' : text[i];
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7F)
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

static void print_chunk(const char *name, const struct trace_chunk_at *chunk) {
    printf(",\"%s\":", name);
    if (chunk == NULL) {
        printf("\"\"");
        return;
    }
    uint8_t *raw = trace_unpack(&all.trace, chunk);
    uint32_t length = chunk->head.raw_bytes;
    bool is_command = chunk->head.kind == TRACE_COMMAND;
    print_string(raw, is_command && length > 0 ? length - 1 : length, is_command);
    trace_unpack_free(raw);
}

static void print_sizes(void) {
    printf(",\"sizes\":[");
    const char *separator = "";
    for (unsigned i = 0; i < SIZE_CLASSES - 1; i++) {
        if (all.sizes[i].count == 0)
            continue;
        printf("%s{\"from\":%llu,\"below\":%llu,\"count\":%llu,\"bytes\":%llu}", separator,
               (unsigned long long)size_class_low(i), (unsigned long long)size_class_low(i + 1),
               (unsigned long long)all.sizes[i].count, (unsigned long long)all.sizes[i].bytes);
        separator = ",";
    }
    printf("],\"commonest_sizes\":[");
    separator = "";
    for (unsigned shown = 0; shown < EXACT_SHOWN; shown++) {
        unsigned best = 0;
        for (unsigned i = 1; i < EXACT_SIZES; i++)
            best = all.exact[i].count > all.exact[best].count ? i : best;
        if (all.exact[best].count == 0)
            break;
        printf("%s{\"bytes\":%u,\"count\":%llu}", separator, best, (unsigned long long)all.exact[best].count);
        all.exact[best].count = 0;
        separator = ",";
    }
    printf("]");
}

static void print_lives(const char *name, const char *unit, const struct sum *lives) {
    printf(",\"%s\":[", name);
    const char *separator = "";
    for (unsigned i = 0; i < LIFE_CLASSES; i++) {
        if (lives[i].count == 0)
            continue;
        printf("%s{\"below_%s\":%.0f,\"count\":%llu,\"bytes\":%llu}", separator, unit, 2.0 * (double)(UINT64_C(1) << i),
               (unsigned long long)lives[i].count, (unsigned long long)lives[i].bytes);
        separator = ",";
    }
    printf("]");
}

static int by_bytes(const void *one, const void *other) {
    uint64_t a = ((const struct site *)one)->bytes, b = ((const struct site *)other)->bytes;
    return a < b ? 1 : a > b ? -1 : 0;
}

static void print_sites(void) {
    if (all.site_room > 0)
        qsort(all.sites, all.site_room, sizeof *all.sites, by_bytes);
    printf(",\"site_count\":%zu,\"sites\":[", all.site_count);
    for (size_t i = 0; i < all.site_count && i < SITES_SHOWN; i++) {
        const struct site *site = &all.sites[i];
        printf(
            "%s{\"address\":%llu,\"takes\":%llu,\"bytes\":%llu,\"moves\":%llu,\"given\":%llu,\"given_elsewhere\":%llu",
            i == 0 ? "" : ",", (unsigned long long)site->address, (unsigned long long)site->takes,
            (unsigned long long)site->bytes, (unsigned long long)site->moves, (unsigned long long)site->given,
            (unsigned long long)site->given_elsewhere);
        printf(",\"peak_live_bytes\":%llu,\"live_bytes_at_end\":%llu,\"mean_life_seconds\":%.9f}",
               (unsigned long long)site->peak_live_bytes, (unsigned long long)site->live_bytes,
               site->given > 0 ? site->life_seconds / (double)site->given : 0);
    }
    printf("]");
}

static void print_threads(void) {
    printf(",\"threads\":[");
    for (uint32_t i = 0; i < all.trace.thread_count && i < THREADS_SHOWN; i++) {
        const struct thread *thread = &all.threads[i];
        uint64_t start = all.trace.end.start_ticks;
        printf("%s{\"takes\":%llu,\"gives\":%llu,\"bytes\":%llu,\"first_seconds\":%.6f,\"last_seconds\":%.6f}",
               i == 0 ? "" : ",", (unsigned long long)thread->takes, (unsigned long long)thread->gives,
               (unsigned long long)thread->bytes,
               thread->first_ticks > start ? trace_seconds(&all.trace, thread->first_ticks - start) : 0,
               thread->last_ticks > start ? trace_seconds(&all.trace, thread->last_ticks - start) : 0);
    }
    printf("]");
}

static void print_all(const struct merge *merge) {
    const struct trace *trace = &all.trace;
    uint64_t length = trace_last_ticks(&all.trace) - trace->end.start_ticks;
    printf("{\"is_whole\":%s,\"pid\":%u,\"start_unix_ns\":%llu", trace->is_whole ? "true" : "false", trace->header.pid,
           (unsigned long long)trace->header.start_unix_ns);
    print_chunk("command", trace->command);
    printf(",\"seconds\":%.6f,\"events\":%llu,\"thread_count\":%u", trace_seconds(trace, length),
           (unsigned long long)trace->end.events, trace->thread_count);
    printf(",\"takes\":%llu,\"zeroed\":%llu,\"aligned\":%llu,\"moves\":%llu,\"moves_up\":%llu,\"gives\":%llu",
           (unsigned long long)all.takes, (unsigned long long)all.zeroed, (unsigned long long)all.aligned,
           (unsigned long long)all.moves, (unsigned long long)all.moves_up, (unsigned long long)all.gives);
    printf(",\"given_elsewhere\":%llu,\"failed\":%llu,\"unknown\":%llu,\"missed\":%llu,\"bytes_taken\":%llu",
           (unsigned long long)all.given_elsewhere, (unsigned long long)merge->failed,
           (unsigned long long)merge->unknown, (unsigned long long)merge->missed,
           (unsigned long long)merge->bytes_taken);
    printf(",\"peak_live_bytes\":%llu,\"peak_live_blocks\":%llu,\"peak_seconds\":%.6f",
           (unsigned long long)merge->peak_live_bytes, (unsigned long long)merge->peak_live_blocks,
           merge->peak_ticks > trace->end.start_ticks ? trace_seconds(trace, merge->peak_ticks - trace->end.start_ticks)
                                                      : 0);
    printf(",\"live_bytes_at_end\":%llu,\"live_blocks_at_end\":%llu,\"never_given\":%llu,\"never_given_bytes\":%llu",
           (unsigned long long)merge->live_bytes, (unsigned long long)merge->live_blocks,
           (unsigned long long)all.never_given.count, (unsigned long long)all.never_given.bytes);
    print_sizes();
    print_lives("lives", "ns", all.life_ns);
    print_lives("lives_in_bytes", "bytes", all.life_bytes);
    print_sites();
    print_threads();
    printf(",\"timeline\":[");
    for (unsigned i = 0; i < MOMENTS; i++)
        printf("%s[%.6f,%llu,%llu]", i == 0 ? "" : ",", trace_seconds(trace, length) * (i + 0.5) / MOMENTS,
               (unsigned long long)all.moment_bytes[i], (unsigned long long)all.moment_blocks[i]);
    printf("]");
    print_chunk("modules", trace->modules);
    printf("}\n");
}

int main(int argc, char **argv) {
    struct merge merge;
    if (argc < 2 || argc > 3)
        trace_fail("usage: stat FILE [partial]");
    trace_open(&all.trace, argv[1], argc == 3 && strcmp(argv[2], "partial") == 0);
    all.threads = memory_map((all.trace.thread_count + 1) * sizeof *all.threads);
    merge_start(&merge, &all.trace, 0);
    count_all(&merge);
    print_all(&merge);
    return 0;
}

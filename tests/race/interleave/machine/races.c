// Vector clocks: one a thread, one a word that was released, and for each byte when each thread last touched it.
#include "races.h"

#include <stdlib.h>
#include <string.h>

#include "print.h"

enum access { PLAIN_READ, PLAIN_WRITE, ATOMIC_READ, ATOMIC_WRITE, ACCESS_COUNT };

// When each thread last touched a byte, by its own clock; 0: not yet.
struct byte {
    uint32_t run;
    uint32_t at[ACCESS_COUNT][THREADS_MOST];
};

// What a word was last released with.
struct release {
    uint32_t run;
    uintptr_t address;
    struct clocks clocks;
};
#define RELEASES 4096 // a power of two, far more than the words of any module

static struct byte *bytes_watched;
static uintptr_t watch_start;
static size_t watch_bytes;
static struct release releases[RELEASES];
static struct clocks clocks_of[THREADS_MOST];
static uint32_t run; // what carries another number is of an earlier schedule

void races_watch(uintptr_t start, size_t bytes) {
    bytes_watched = calloc(bytes, sizeof *bytes_watched);
    watch_start = start;
    watch_bytes = bytes;
}

void races_start(void) {
    run++;
    memset(clocks_of, 0, sizeof clocks_of);
    for (unsigned i = 0; i < THREADS_MOST; i++)
        clocks_of[i].of[i] = 1;
}

static void join(struct clocks *into, const struct clocks *from) {
    for (unsigned i = 0; i < THREADS_MOST; i++)
        if (into->of[i] < from->of[i])
            into->of[i] = from->of[i];
}

static struct release *release_of(uintptr_t address) {
    unsigned place = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 48) % RELEASES;
    while (releases[place].run == run && releases[place].address != address)
        place = (place + 1) % RELEASES;
    if (releases[place].run != run)
        releases[place] = (struct release){.run = run, .address = address};
    return &releases[place];
}

static void report(unsigned thread, enum access access, unsigned other, enum access earlier, uintptr_t address,
                   const void *caller) {
    static const char *const names[] = {"reads", "writes", "atomically reads", "atomically writes"};
    char what[64] = "";
    print_name(address, what, sizeof what);
    interleave_fail("data race: thread %u %s %s at %s, thread %u %s it, and nothing orders the two", thread,
                    names[access], what, print_place(caller), other, names[earlier]);
}

static bool conflict(enum access one, enum access other) {
    bool writes = one == PLAIN_WRITE || one == ATOMIC_WRITE || other == PLAIN_WRITE || other == ATOMIC_WRITE;
    bool plain = one == PLAIN_READ || one == PLAIN_WRITE || other == PLAIN_READ || other == PLAIN_WRITE;
    return writes && plain;
}

static void touch(unsigned thread, uintptr_t address, size_t bytes, enum access access, const void *caller) {
    if (address < watch_start || address - watch_start >= watch_bytes)
        return;
    for (size_t i = 0; i < bytes; i++) {
        struct byte *byte = &bytes_watched[address - watch_start + i];
        if (byte->run != run)
            *byte = (struct byte){.run = run};
        for (unsigned other = 0; other < THREADS_MOST; other++)
            for (unsigned earlier = 0; earlier < ACCESS_COUNT && other != thread; earlier++)
                if (conflict(access, earlier) && byte->at[earlier][other] > clocks_of[thread].of[other])
                    report(thread, access, other, earlier, address + i, caller);
        byte->at[access][thread] = clocks_of[thread].of[thread];
    }
}

void races_plain(unsigned thread, uintptr_t address, size_t bytes, bool writes, const void *caller) {
    touch(thread, address, bytes, writes ? PLAIN_WRITE : PLAIN_READ, caller);
}

static bool acquires(int order) {
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST ||
           order == __ATOMIC_CONSUME;
}

static bool releases_with(int order) {
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

void races_load(unsigned thread, const struct operation *operation, bool forwarded) {
    if (acquires(operation->order) && !forwarded)
        join(&clocks_of[thread], &release_of(operation->address)->clocks);
    touch(thread, operation->address, operation->bytes, ATOMIC_READ, operation->caller);
}

void races_store(unsigned thread, const struct operation *operation, struct clocks *clocks) {
    touch(thread, operation->address, operation->bytes, ATOMIC_WRITE, operation->caller);
    *clocks = (struct clocks){.of = {0}}; // a relaxed store ends what an earlier release began
    if (releases_with(operation->order)) {
        *clocks = clocks_of[thread];
        clocks_of[thread].of[thread]++;
    }
}

void races_stored(const struct operation *operation, const struct clocks *clocks) {
    release_of(operation->address)->clocks = *clocks;
}

void races_change(unsigned thread, const struct operation *operation, bool wrote) {
    struct release *release = release_of(operation->address);
    if (acquires(operation->order))
        join(&clocks_of[thread], &release->clocks);
    touch(thread, operation->address, operation->bytes, wrote ? ATOMIC_WRITE : ATOMIC_READ, operation->caller);
    if (wrote && releases_with(operation->order)) { // an earlier release goes on through a read-modify-write
        join(&release->clocks, &clocks_of[thread]);
        clocks_of[thread].of[thread]++;
    }
}

void races_join_all(unsigned thread) {
    for (unsigned i = 0; i < THREADS_MOST; i++)
        join(&clocks_of[thread], &clocks_of[i]);
    clocks_of[thread].of[thread]++;
}

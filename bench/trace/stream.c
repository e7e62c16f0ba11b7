// A thread's events on their way to the file: entered, encoded, flushed when the buffer is full, and at the end.
//
// Streams are never unmapped. One whose thread has ended is flushed, and taken again by a later thread under a new
// number. A stream's lock is nearly always free: the end of the program, which flushes the streams of threads that
// still run, is the only other that takes it.
#define _GNU_SOURCE
#include "stream.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

struct stream {
    atomic_bool locked; // acquire and release; pairs: itself
    bool in_use;        // by a thread; under the list's lock
    struct stream *next;
    struct trace_chunk head; // of the chunk being filled
    uint64_t last_ticks, last_address, last_site;
    uint64_t sites[TRACE_SITES];
    uint8_t raw[TRACE_CHUNK_RAW_BYTES];
};

static struct {
    pthread_mutex_t lock; // of the list
    struct stream *streams;
    pthread_key_t key;
    bool has_key;
    atomic_bool on; // release where recording starts; relaxed elsewhere: a stream's lock orders what follows
    pid_t pid;      // that records; a vfork child sees it too, and is another
    uint32_t threads;
    uint64_t events;
    uint64_t start_ticks, start_ns;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct stream *mine __attribute__((tls_model("initial-exec")));
static __thread bool inside __attribute__((tls_model("initial-exec")));

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t ticks_before(void) {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return clock_ns();
#endif
}

// F3: rdtscp waits for the loads before it, so a block that came from another thread's free is later than that free.
uint64_t ticks_after(void) {
#if defined(__x86_64__)
    unsigned processor;
    return __rdtscp(&processor);
#else
    return clock_ns();
#endif
}

static void stream_lock(struct stream *stream) {
    while (atomic_exchange_explicit(&stream->locked, true, memory_order_acquire))
        sched_yield();
}

static void stream_unlock(struct stream *stream) {
    atomic_store_explicit(&stream->locked, false, memory_order_release);
}

static void stream_restart(struct stream *stream) {
    stream->head.events = 0;
    stream->head.raw_bytes = 0;
    stream->last_address = 0;
    stream->last_site = 0;
    memset(stream->sites, 0, sizeof stream->sites);
}

static void stream_flush(struct stream *stream) {
    if (stream->head.events == 0)
        return;
    int saved = errno;
    file_put(&stream->head, stream->raw);
    __atomic_fetch_add(&all.events, stream->head.events, __ATOMIC_RELAXED);
    stream_restart(stream);
    errno = saved;
}

static struct stream *stream_make(void) {
    struct stream *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    made->next = all.streams;
    all.streams = made;
    return made;
}

// A stream for the calling thread, under a new number.
static struct stream *stream_take(void) {
    pthread_mutex_lock(&all.lock);
    struct stream *stream = all.streams;
    while (stream != NULL && stream->in_use)
        stream = stream->next;
    if (stream == NULL)
        stream = stream_make();
    if (stream != NULL) {
        stream->in_use = true;
        stream->head = (struct trace_chunk){.kind = TRACE_EVENTS, .thread = all.threads++};
        stream_restart(stream);
    }
    pthread_mutex_unlock(&all.lock);
    mine = stream;
    if (stream != NULL && all.has_key)
        pthread_setspecific(all.key, stream); // may allocate; that is not recorded: we are inside
    return stream;
}

// The thread ends. What its later destructors do becomes another stream.
static void thread_ended(void *argument) {
    struct stream *stream = argument;
    inside = true;
    mine = NULL;
    stream_lock(stream);
    stream_flush(stream);
    stream_unlock(stream);
    pthread_mutex_lock(&all.lock);
    stream->in_use = false;
    pthread_mutex_unlock(&all.lock);
    inside = false;
}

struct stream *stream_enter(void) {
    if (inside || !atomic_load_explicit(&all.on, memory_order_relaxed))
        return NULL;
    inside = true;
    struct stream *stream = mine != NULL ? mine : stream_take();
    if (stream == NULL)
        inside = false;
    return stream;
}

void stream_leave(struct stream *stream) {
    if (stream != NULL)
        inside = false;
}

// ---- encoding

static void put_number(struct stream *stream, uint64_t value) {
    uint8_t *at = stream->raw + stream->head.raw_bytes;
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)value | 0x80;
    *at++ = (uint8_t)value;
    stream->head.raw_bytes = (uint32_t)(at - stream->raw);
}

static void put_address(struct stream *stream, const void *block) {
    uint64_t address = (uint64_t)(uintptr_t)block;
    put_number(stream, trace_zigzag((int64_t)(address - stream->last_address)));
    stream->last_address = address;
}

static void put_site(struct stream *stream, const void *site) {
    uint64_t address = (uint64_t)(uintptr_t)site;
    uint32_t place = trace_site_place(address);
    if (stream->sites[place] == address) {
        put_number(stream, 1 + place);
        return;
    }
    stream->sites[place] = address;
    put_number(stream, 0);
    put_number(stream, trace_zigzag((int64_t)(address - stream->last_site)));
    stream->last_site = address;
}

// Starts an event in the locked stream; false: recording has ended.
static bool event_start(struct stream *stream, enum trace_event_kind kind, uint64_t ticks, const void *site) {
    stream_lock(stream);
    if (!atomic_load_explicit(&all.on, memory_order_relaxed))
        return false;
    if (stream->head.raw_bytes + TRACE_EVENT_BYTES_MOST > sizeof stream->raw)
        stream_flush(stream);
    if (stream->head.events++ == 0)
        stream->head.first_ticks = stream->last_ticks = ticks;
    stream->raw[stream->head.raw_bytes++] = (uint8_t)kind;
    // A realloc's event has the time at which it began: another thread's clock may be a little behind.
    put_number(stream, ticks > stream->last_ticks ? ticks - stream->last_ticks : 0);
    stream->last_ticks = ticks > stream->last_ticks ? ticks : stream->last_ticks;
    put_site(stream, site);
    return true;
}

void stream_add_allocation(struct stream *stream, enum trace_event_kind kind, size_t align, size_t bytes,
                           const void *block, const void *site) {
    if (event_start(stream, kind, ticks_after(), site)) {
        if (kind == TRACE_ALIGNED)
            put_number(stream, align == 0 ? 0 : (uint64_t)__builtin_ctzll(align));
        put_number(stream, bytes);
        put_address(stream, block);
    }
    stream_unlock(stream);
}

void stream_add_realloc(struct stream *stream, uint64_t begun, const void *old, size_t bytes, const void *block,
                        const void *site) {
    uint64_t ended = ticks_after();
    if (event_start(stream, TRACE_REALLOC, begun, site)) {
        put_address(stream, old);
        put_number(stream, ended - begun);
        put_number(stream, bytes);
        put_address(stream, block);
    }
    stream_unlock(stream);
}

void stream_add_free(struct stream *stream, const void *block, const void *site) {
    if (event_start(stream, TRACE_FREE, ticks_before(), site))
        put_address(stream, block);
    stream_unlock(stream);
}

// ---- start, end, fork

static void before_fork(void) {
    pthread_mutex_lock(&all.lock);
    file_lock();
}

static void after_fork_in_parent(void) {
    file_unlock();
    pthread_mutex_unlock(&all.lock);
}

// The parent writes what is in the buffers; the child starts with empty ones, and a file of its own or none.
static void after_fork_in_child(void) {
    file_close();
    file_unlock();
    for (struct stream *stream = all.streams; stream != NULL; stream = stream->next) {
        stream->in_use = false;
        atomic_store_explicit(&stream->locked, false, memory_order_relaxed); // no other thread lives here
        stream_restart(stream);
    }
    mine = NULL;
    pthread_mutex_unlock(&all.lock);
    atomic_store_explicit(&all.on, false, memory_order_relaxed);
    record_start();
}

// FILE for the process that the command started; for its children CHILDREN.PID, if they are wanted.
static bool choose_path(char *path, size_t bytes) {
    const char *base = getenv("HKTRACE_FILE"), *pid = getenv("HKTRACE_PID"), *children = getenv("HKTRACE_CHILDREN");
    if (base == NULL || pid == NULL)
        return false;
    if (strtol(pid, NULL, 10) == (long)getpid())
        return snprintf(path, bytes, "%s", base) < (int)bytes;
    return children != NULL && snprintf(path, bytes, "%s.%ld", children, (long)getpid()) < (int)bytes;
}

void record_start(void) {
    char path[4096];
    bool nested = inside;
    inside = true;
    if (choose_path(path, sizeof path) && file_open(path)) {
        if (!all.has_key) {
            all.has_key = pthread_key_create(&all.key, thread_ended) == 0;
            pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        }
        all.pid = getpid();
        all.threads = 0;
        all.events = 0;
        all.start_ns = clock_ns();
        all.start_ticks = ticks_before();
        file_put_text(TRACE_COMMAND, "/proc/self/cmdline", false);
        atomic_store_explicit(&all.on, true, memory_order_release); // pairs: event_start, by the stream's lock
    }
    inside = nested;
}

void record_end(void) {
    if (getpid() != all.pid) // a vfork child, in its parent's memory
        return;
    int saved = errno;
    inside = true;
    pthread_mutex_lock(&all.lock);
    if (atomic_exchange_explicit(&all.on, false, memory_order_acq_rel)) {
        for (struct stream *stream = all.streams; stream != NULL; stream = stream->next) {
            stream_lock(stream); // who holds it ends its event first, who comes later sees that recording is off
            stream_flush(stream);
            stream_unlock(stream);
        }
        file_put_text(TRACE_MODULES, "/proc/self/maps", true);
        struct trace_end end = {all.events, all.threads, all.start_ticks, ticks_after(), all.start_ns, clock_ns()};
        file_put(&(struct trace_chunk){.kind = TRACE_END, .raw_bytes = sizeof end}, &end);
        file_close();
    }
    pthread_mutex_unlock(&all.lock);
    inside = false;
    errno = saved;
}

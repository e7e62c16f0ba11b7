// Reads the file of a trace, and checks it.
#define _GNU_SOURCE
#define ZSTD_STATIC_LINKING_ONLY // static contexts
#include "read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

void trace_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    dprintf(STDERR_FILENO, "hakmem trace: ");
    vdprintf(STDERR_FILENO, format, list);
    dprintf(STDERR_FILENO, "\n");
    va_end(list);
    _exit(2);
}

void *memory_map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        trace_fail("no memory for %zu bytes: %s", bytes, strerror(errno));
    return memory;
}

void *memory_grow(void *old, size_t old_bytes, size_t bytes) {
    if (old == NULL)
        return memory_map(bytes);
    void *memory = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        trace_fail("no memory for %zu bytes: %s", bytes, strerror(errno));
    return memory;
}

void memory_unmap(void *memory, size_t bytes) {
    if (memory != NULL)
        munmap(memory, bytes);
}

// ---- the file

struct whole {
    const uint8_t *bytes;
    size_t count;
};

static struct whole whole_file(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    if (descriptor < 0 || fstat(descriptor, &facts) != 0)
        trace_fail("%s can't be read: %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        trace_fail("%s is not a file", path);
    if ((size_t)facts.st_size < sizeof(struct trace_header))
        trace_fail("%s is no trace: it has %lld bytes, and a trace's header alone has %zu", path,
                   (long long)facts.st_size, sizeof(struct trace_header));
    void *bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
        trace_fail("%s can't be mapped: %s", path, strerror(errno));
    close(descriptor);
    return (struct whole){bytes, (size_t)facts.st_size};
}

static void check_header(struct trace *trace, struct whole file) {
    memcpy(&trace->header, file.bytes, sizeof trace->header);
    if (memcmp(trace->header.magic, TRACE_MAGIC, sizeof trace->header.magic) != 0)
        trace_fail("%s is no trace: it does not start with " TRACE_MAGIC, trace->path);
    if (trace->header.version != TRACE_VERSION)
        trace_fail("%s is a trace of version %u, and this reads version %u", trace->path, trace->header.version,
                   TRACE_VERSION);
    if (trace->header.header_bytes < sizeof trace->header || trace->header.header_bytes > file.count)
        trace_fail("%s is damaged: its header says that it has %u bytes", trace->path, trace->header.header_bytes);
}

// NULL: all is well with the chunk at `at`, which is copied to `head`.
static const char *chunk_disproof(struct whole file, size_t at, struct trace_chunk *head) {
    if (file.count - at < sizeof *head)
        return "a chunk's head is cut off";
    memcpy(head, file.bytes + at, sizeof *head);
    if (head->magic != TRACE_CHUNK_MAGIC)
        return "no chunk starts here";
    if (head->kind < TRACE_EVENTS || head->kind > TRACE_END)
        return "a chunk is of a kind that is not known";
    if (head->raw_bytes > TRACE_CHUNK_RAW_BYTES || head->events > head->raw_bytes)
        return "a chunk says that it holds more than a chunk can";
    if (file.count - at - sizeof *head < head->stored_bytes)
        return "a chunk is cut off";
    return NULL;
}

static struct trace_chunk_at *chunk_keep(const struct trace_chunk *head, const uint8_t *stored) {
    static struct trace_chunk_at *pool;
    static size_t left;
    if (left == 0) {
        left = 4096;
        pool = memory_map(left * sizeof *pool);
    }
    struct trace_chunk_at *chunk = &pool[--left];
    *chunk = (struct trace_chunk_at){.head = *head, .stored = stored};
    return chunk;
}

static void add_events(struct trace *trace, struct trace_chunk_at *chunk, struct trace_chunk_at ***tails) {
    size_t room = trace->thread_room;
    uint32_t thread = chunk->head.thread;
    if (thread >= (1u << 24))
        trace_fail("%s is damaged: a chunk is of thread %u", trace->path, thread);
    while (thread >= room) {
        size_t more = room == 0 ? 64 : room * 2;
        trace->threads = memory_grow(trace->threads, room * sizeof *trace->threads, more * sizeof *trace->threads);
        *tails = memory_grow(*tails, room * sizeof **tails, more * sizeof **tails);
        room = trace->thread_room = more;
    }
    if (thread >= trace->thread_count)
        trace->thread_count = thread + 1;
    if ((*tails)[thread] == NULL)
        trace->threads[thread].first = chunk;
    else
        (*tails)[thread]->next = chunk;
    (*tails)[thread] = chunk;
    trace->threads[thread].events += chunk->head.events;
}

static void read_end(struct trace *trace, const struct trace_chunk_at *chunk) {
    uint8_t *raw = trace_unpack(trace, chunk);
    if (chunk->head.raw_bytes != sizeof trace->end)
        trace_fail("%s is damaged: its end has %u bytes", trace->path, chunk->head.raw_bytes);
    memcpy(&trace->end, raw, sizeof trace->end);
    trace_unpack_free(raw);
    trace->is_whole = true;
}

void trace_open(struct trace *trace, const char *path, bool partial) {
    struct whole file = whole_file(path);
    struct trace_chunk_at **tails = NULL;
    const char *disproof = NULL;
    uint64_t events = 0;
    *trace = (struct trace){.path = path};
    check_header(trace, file);
    size_t at = trace->header.header_bytes;
    while (at < file.count && !trace->is_whole) {
        struct trace_chunk head;
        if ((disproof = chunk_disproof(file, at, &head)) != NULL)
            break;
        struct trace_chunk_at *chunk = chunk_keep(&head, file.bytes + at + sizeof head);
        events += head.events;
        if (head.kind == TRACE_EVENTS)
            add_events(trace, chunk, &tails);
        else if (head.kind == TRACE_MODULES)
            trace->modules = chunk;
        else if (head.kind == TRACE_COMMAND)
            trace->command = chunk;
        else
            read_end(trace, chunk);
        at += sizeof head + head.stored_bytes;
    }
    if (!trace->is_whole && !partial)
        trace_fail(
            "%s is not whole: at byte %zu %s. The program was killed, still runs, or the disk was full; --partial "
            "reads the %llu events up to there",
            path, at, disproof != NULL ? disproof : "its end is missing", (unsigned long long)events);
    if (trace->is_whole && events != trace->end.events)
        trace_fail("%s is damaged: it holds %llu events, and its end says %llu", path, (unsigned long long)events,
                   (unsigned long long)trace->end.events);
    if (!trace->is_whole)
        trace->end = (struct trace_end){
            .events = events, .threads = trace->thread_count, .start_ticks = trace->header.start_ticks};
}

double trace_seconds(const struct trace *trace, uint64_t ticks) {
    const struct trace_end *end = &trace->end;
    if (end->end_ticks <= end->start_ticks || end->end_ns <= end->start_ns) // not whole: a guess
        return (double)ticks * 1e-9;
    double tick_ns = (double)(end->end_ns - end->start_ns) / (double)(end->end_ticks - end->start_ticks);
    return (double)ticks * tick_ns * 1e-9;
}

uint8_t *trace_unpack(const struct trace *trace, const struct trace_chunk_at *chunk) {
    static ZSTD_DCtx *context;
    if (context == NULL) {
        size_t bytes = ZSTD_estimateDCtxSize();
        context = ZSTD_initStaticDCtx(memory_map(bytes), bytes);
    }
    uint8_t *raw = memory_map(TRACE_CHUNK_RAW_BYTES + 1);
    size_t bytes = ZSTD_decompressDCtx(context, raw, TRACE_CHUNK_RAW_BYTES, chunk->stored, chunk->head.stored_bytes);
    if (ZSTD_isError(bytes) || bytes != chunk->head.raw_bytes)
        trace_fail("%s is damaged: a chunk of thread %u can't be unpacked (%s)", trace->path, chunk->head.thread,
                   ZSTD_isError(bytes) ? ZSTD_getErrorName(bytes) : "other length");
    return raw;
}

void trace_unpack_free(uint8_t *raw) {
    memory_unmap(raw, TRACE_CHUNK_RAW_BYTES + 1);
}

// ---- events

// Chunks without events are no use.
static const struct trace_chunk_at *with_events(const struct trace_chunk_at *chunk) {
    while (chunk != NULL && chunk->head.events == 0)
        chunk = chunk->next;
    return chunk;
}

uint64_t trace_last_ticks(const struct trace *trace) {
    uint64_t last = trace->end.end_ticks;
    for (uint32_t i = 0; i < trace->thread_count; i++)
        for (const struct trace_chunk_at *chunk = trace->threads[i].first; chunk != NULL; chunk = chunk->next)
            last = chunk->head.first_ticks > last ? chunk->head.first_ticks : last;
    return last;
}

void trace_cursor_start(struct trace_cursor *cursor, const struct trace *trace, uint32_t thread) {
    *cursor = (struct trace_cursor){.trace = trace, .chunk = with_events(trace->threads[thread].first)};
}

static void cursor_open(struct trace_cursor *cursor) {
    cursor->raw = trace_unpack(cursor->trace, cursor->chunk);
    cursor->at = cursor->raw;
    cursor->end = cursor->raw + cursor->chunk->head.raw_bytes;
    cursor->left = cursor->chunk->head.events;
    cursor->last_ticks = cursor->chunk->head.first_ticks;
    cursor->last_address = cursor->last_site = 0;
    if (cursor->sites == NULL)
        cursor->sites = memory_map(TRACE_SITES * sizeof *cursor->sites);
    memset(cursor->sites, 0, TRACE_SITES * sizeof *cursor->sites);
}

static void cursor_close(struct trace_cursor *cursor) {
    trace_unpack_free(cursor->raw);
    cursor->raw = NULL;
    cursor->chunk = with_events(cursor->chunk->next);
    if (cursor->chunk == NULL)
        memory_unmap(cursor->sites, TRACE_SITES * sizeof *cursor->sites);
}

static _Noreturn void cursor_fail(const struct trace_cursor *cursor, const char *what) {
    trace_fail("%s is damaged: %s in a chunk of thread %u", cursor->trace->path, what, cursor->chunk->head.thread);
}

static uint64_t get_number(struct trace_cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (cursor->at == cursor->end)
            cursor_fail(cursor, "an event is cut off");
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor_fail(cursor, "a number is too long");
}

uint64_t trace_cursor_ticks(const struct trace_cursor *cursor) {
    if (cursor->chunk == NULL)
        return UINT64_MAX;
    if (cursor->raw == NULL)
        return cursor->chunk->head.first_ticks;
    struct trace_cursor ahead = *cursor;
    if (ahead.at == ahead.end)
        cursor_fail(cursor, "an event is missing");
    ahead.at++; // its kind
    return ahead.last_ticks + get_number(&ahead);
}

static uint64_t get_address(struct trace_cursor *cursor) {
    return cursor->last_address += (uint64_t)trace_unzigzag(get_number(cursor));
}

static uint64_t get_site(struct trace_cursor *cursor) {
    uint64_t code = get_number(cursor);
    if (code > TRACE_SITES)
        cursor_fail(cursor, "a site is not known");
    if (code > 0)
        return cursor->sites[code - 1];
    cursor->last_site += (uint64_t)trace_unzigzag(get_number(cursor));
    cursor->sites[trace_site_place(cursor->last_site)] = cursor->last_site;
    return cursor->last_site;
}

bool trace_cursor_next(struct trace_cursor *cursor, struct trace_event *event) {
    if (cursor->chunk == NULL)
        return false;
    if (cursor->raw == NULL)
        cursor_open(cursor);
    if (cursor->at == cursor->end)
        cursor_fail(cursor, "an event is missing");
    *event = (struct trace_event){.kind = *cursor->at++};
    if (event->kind < TRACE_MALLOC || event->kind > TRACE_FREE)
        cursor_fail(cursor, "an event is of a kind that is not known");
    event->ticks = cursor->last_ticks += get_number(cursor);
    event->site = get_site(cursor);
    if (event->kind == TRACE_REALLOC) {
        event->old = get_address(cursor);
        event->duration = get_number(cursor);
    }
    if (event->kind == TRACE_ALIGNED)
        event->align_log2 = (uint32_t)get_number(cursor);
    if (event->align_log2 > 47)
        cursor_fail(cursor, "an alignment is impossible");
    if (event->kind != TRACE_FREE)
        event->bytes = get_number(cursor);
    event->address = get_address(cursor);
    if (--cursor->left == 0)
        cursor_close(cursor);
    return true;
}

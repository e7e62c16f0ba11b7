// Reads the file of a trace, and checks it: nothing in it is trusted.
#ifndef READ_H
#define READ_H

#include <stdbool.h>

#include "format.h"

struct trace_event {
    enum trace_event_kind kind;
    uint32_t align_log2;
    uint64_t ticks, site, bytes, address;
    uint64_t old, duration; // of a realloc
};

struct trace_chunk_at {
    struct trace_chunk head;
    const uint8_t *stored;
    struct trace_chunk_at *next; // of the same thread
};

struct trace_thread {
    struct trace_chunk_at *first;
    uint64_t events;
};

struct trace {
    const char *path;
    struct trace_header header;
    struct trace_end end; // where the trace is not whole: what can be known without it
    bool is_whole;        // it has its end
    struct trace_thread *threads;
    size_t thread_room; // of `threads`
    uint32_t thread_count;
    const struct trace_chunk_at *modules, *command; // NULL: there is none
};

// Opens a trace, or ends the program with a line that says what is wrong. `partial`: a file without its end is read as
// far as it is whole.
void trace_open(struct trace *trace, const char *path, bool partial);
// When the last thing happened that is known, also of a trace without its end.
uint64_t trace_last_ticks(const struct trace *trace);

double trace_seconds(const struct trace *trace, uint64_t ticks);

// What a chunk holds, in memory of its own; trace_text adds a zero byte.
uint8_t *trace_unpack(const struct trace *trace, const struct trace_chunk_at *chunk);
void trace_unpack_free(uint8_t *raw);

// Goes through the events of one thread. Memory is taken while a chunk is open only.
struct trace_cursor {
    const struct trace *trace;
    const struct trace_chunk_at *chunk; // the open one, or the next to open; NULL: through. An open one has events left
    uint8_t *raw;                       // NULL: not open
    const uint8_t *at, *end;
    uint32_t left;
    uint64_t last_ticks, last_address, last_site;
    uint64_t *sites;
};

void trace_cursor_start(struct trace_cursor *cursor, const struct trace *trace, uint32_t thread);
// The time of the next event, without opening a chunk; UINT64_MAX: through.
uint64_t trace_cursor_ticks(const struct trace_cursor *cursor);
bool trace_cursor_next(struct trace_cursor *cursor, struct trace_event *event);

// Memory of the reader's own, never from malloc: what is measured is what the trace asks for. Ends the program where
// there is none.
void *memory_map(size_t bytes);
void *memory_grow(void *old, size_t old_bytes, size_t bytes);
void memory_unmap(void *memory, size_t bytes);

// Ends the program with status 2 and one line.
_Noreturn void trace_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

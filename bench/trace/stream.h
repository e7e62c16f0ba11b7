// The recorder's inside: a thread's events, encoded and handed to the file.
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct stream;

// The calling thread's stream, locked; NULL where nothing is to be recorded: inside another recorded call, before the
// start, after the end, out of memory. stream_leave ends it; between the two nothing is recorded on this thread.
struct stream *stream_enter(void);
void stream_leave(struct stream *stream);

// Ticks of the clock that the file counts in. `after`: not before all that the thread did up to here.
uint64_t ticks_before(void);
uint64_t ticks_after(void);

// Appends events. A stream must have been entered.
void stream_add_allocation(struct stream *stream, enum trace_event_kind kind, size_t align, size_t bytes,
                           const void *block, const void *site);
void stream_add_realloc(struct stream *stream, uint64_t begun, const void *old, size_t bytes, const void *block,
                        const void *site);
void stream_add_free(struct stream *stream, const void *block, const void *site);

// Starts recording into the file that the environment names, if it names one; ends it: everything is written.
void record_start(void);
void record_end(void);

// ---- file.c: chunks into the file, one after another

// False: it can't be written; a line on stderr has said why.
bool file_open(const char *path);
void file_put(const struct trace_chunk *head, const void *raw); // compresses; `stored_bytes` is filled in
void file_put_text(enum trace_chunk_kind kind, const char *path, bool executable_lines);
void file_close(void);
void file_lock(void); // around a fork, so that no chunk is half made
void file_unlock(void);

#endif

// The file of a trace: what the recorder writes and the reader reads. docs/traces.md describes it for others.
//
//   header | chunk | chunk | …        all numbers little-endian
//   chunk:  head, then `stored_bytes` of one zstd frame (RFC 8878, with checksum) that holds `raw_bytes`
//
// F1. A chunk of events belongs to one thread, is in the order of its calls, and can be read without any other.
// F2. The last chunk is of kind TRACE_END. A file without one is that of a program that was killed.
// F3. The time of a block's allocation is taken after the allocator returned it, that of its free before the
//     allocator got it. So on one address, sorted by time, allocations and frees alternate, whoever made them.
#ifndef FORMAT_H
#define FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "HKMTRACE"
#define TRACE_VERSION 1u
#define TRACE_CHUNK_MAGIC 0x4B434B48u // "HKCK"
#define TRACE_CHUNK_RAW_BYTES (64u << 10)
#define TRACE_EVENT_BYTES_MOST 64u // of one event, encoded
#define TRACE_SITES 512u           // remembered within a chunk

struct trace_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; // of this struct; a later version may append
    uint32_t pid;
    uint32_t page_bytes;
    uint64_t start_ticks;
    uint64_t start_unix_ns;
};

enum trace_chunk_kind {
    TRACE_EVENTS = 1,  // of one thread
    TRACE_MODULES = 2, // text: the executable lines of /proc/PID/maps at the end
    TRACE_COMMAND = 3, // text: the command's words, each ended by a zero byte
    TRACE_END = 4,     // struct trace_end
};

struct trace_chunk {
    uint32_t magic;
    uint32_t kind;
    uint32_t thread; // in the order of their first calls, from 0
    uint32_t events;
    uint32_t raw_bytes;
    uint32_t stored_bytes;
    uint64_t first_ticks; // what the first event's time is counted from
};

struct trace_end {
    uint64_t events;
    uint64_t threads;
    uint64_t start_ticks, end_ticks; // and the same moments in nanoseconds, for the length of a tick
    uint64_t start_ns, end_ns;
};

// An event: a byte with the kind, then numbers as LEB128; signed ones zigzag.
//   all:      ticks since the event before, or since first_ticks
//             site: 0 and the signed difference to the last site given so, or 1 + its place among the remembered
//   allocations: [alignment's binary logarithm, for ALIGNED] size, address as signed difference to the last address
//   realloc:  old address, ticks that the call took, size, new address
//   free:     address
// An address of 0 says that the call failed. A free of NULL is no event, a realloc of NULL is a malloc.
enum trace_event_kind {
    TRACE_MALLOC = 1,
    TRACE_CALLOC = 2,
    TRACE_ALIGNED = 3,
    TRACE_REALLOC = 4,
    TRACE_FREE = 5,
};

// The place at which a site is remembered, by writer and reader alike.
static inline uint32_t trace_site_place(uint64_t site) {
    return (uint32_t)((site * UINT64_C(0x9E3779B97F4A7C15)) >> 55);
}

static inline uint64_t trace_zigzag(int64_t value) {
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t trace_unzigzag(uint64_t value) {
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif

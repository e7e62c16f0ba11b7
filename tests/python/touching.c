// Ends with 1 and says why where touch_pages_from leaves out a page of a block, writes beside it, the same line of all
// pages, or another line of a page in another block.
#include "../../bench/workloads/harness.h"

#include <stdio.h>
#include <string.h>

#define PAGES 200
#define ROOM ((size_t)PAGES * PAGE_BYTES)

static char memory[ROOM] __attribute__((aligned(PAGE_BYTES)));

static int check(size_t begin, size_t from, size_t bytes) {
    unsigned seen[PAGE_BYTES / CACHE_LINE_BYTES] = {0}, lines = 0, pages = 0;
    memset(memory, 0, ROOM);
    touch_pages_from(memory + begin, from, bytes);
    for (size_t page = 0; page < ROOM; page += PAGE_BYTES) {
        int written = 0, expected = page + PAGE_BYTES > begin + from && page < begin + bytes;
        for (size_t at = page; at < page + PAGE_BYTES; at++) {
            if (memory[at] == 0)
                continue;
            written = 1;
            lines += seen[at % PAGE_BYTES / CACHE_LINE_BYTES]++ == 0;
            if (at < begin + from || at >= begin + bytes)
                return printf("%zu, %zu, %zu: byte %zu is written\n", begin, from, bytes, at), 1;
        }
        pages += (unsigned)expected;
        if (written != expected)
            return printf("%zu, %zu, %zu: page %zu is %s\n", begin, from, bytes, page, written ? "written" : "left"), 1;
    }
    if (lines < (pages < 64 ? pages / 2 : 64))
        return printf("%zu, %zu, %zu: %u lines of %u pages\n", begin, from, bytes, lines, pages), 1;
    return memory[begin + bytes - 1] == 1 ? 0 : (printf("%zu, %zu: the last byte is left\n", begin, bytes), 1);
}

// Whatever block a page belongs to, it is the same line of it that is written.
static int check_blocks(size_t begin) {
    static char before[ROOM];
    memset(memory, 0, ROOM);
    touch_pages_from(memory, 0, ROOM);
    memcpy(before, memory, ROOM);
    memset(memory, 0, ROOM);
    touch_pages_from(memory + begin, 0, ROOM / 2);
    size_t inner = (begin / PAGE_BYTES + 1) * PAGE_BYTES, end = begin + ROOM / 2 - PAGE_BYTES;
    return memcmp(before + inner, memory + inner, end - inner) == 0 ? 0 : (printf("%zu: other lines\n", begin), 1);
}

int main(void) {
    static const size_t begins[] = {0, 16, 704, 2048, 4032, 4095}, froms[] = {0, 1, 4000, 4096, 70000},
                        sizes[] = {70001, 80000, 81920, 524289, 786432};
    for (size_t begin = 0; begin < 20 * PAGE_BYTES; begin += 2000)
        if (check_blocks(begin))
            return 1;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        for (size_t j = 0; j < sizeof froms / sizeof *froms; j++)
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                if (check(begins[i], froms[j], sizes[k]))
                    return 1;
    return 0;
}

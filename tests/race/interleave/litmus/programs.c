// Random small programs, to compare what the reduced exploration and that of every schedule see: their outcomes must be
// the same. Two or three threads do a few operations on three words, one lock among them.
#include "base/atomics.h"
#include "base/compiler.h"
#include "script.h"

#define WORDS 3
static uint32_t words[WORDS];
static uint32_t lock;
static uint64_t seen[THREADS_MOST];

// What a thread does next, from the program's number, the thread's and the place: Steele, Lea and Flood's mix
// (SplitMix).
static uint64_t choose(unsigned thread, unsigned place) {
    uint64_t mixed = (interleave_argument() * 64 + thread * 16 + place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static uint64_t operate(uint64_t choice, uint32_t *word, uint32_t value) {
    uint32_t expected = value & 3;
    switch (choice % 8) {
    case 0:
    case 1:
        return load_relaxed(word);
    case 2:
        store_relaxed(word, value);
        return 0;
    case 3:
        store_release(word, value);
        return 0;
    case 4:
        return exchange_total(word, value);
    case 5:
        return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    case 6:
        return swap_total(word, expected, value);
    default:
        shared_add(word, value);
        return 0;
    }
}

static void body(unsigned thread) {
    unsigned count = 2 + (unsigned)(choose(thread, 15) % 3);
    bool locks = choose(thread, 14) % 3 == 0;
    bool kills = thread == 0 && choose(thread, 13) % 4 == 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t choice = choose(thread, i);
        uint32_t expected = 0;
        if (locks && i == 1)
            swap_acquire(&lock, expected, 1);
        if (kills && i == 1)
            interleave_kill_others();
        uint64_t got = operate(choice, &words[choice / 8 % WORDS], (uint32_t)(thread * 8 + i + 1));
        seen[thread] = seen[thread] * 37 + got + 1;
    }
    if (locks)
        exchange_release(&lock, 0);
}

static void prepare(void) {
    interleave_is_lock(&lock);
}

static void check(void) {
    uint64_t outcome = 0;
    for (unsigned i = 0; i < WORDS; i++)
        outcome = outcome * 101 + words[i];
    for (unsigned i = 0; i < THREADS_MOST; i++)
        outcome = outcome * 1000003 + seen[i];
    interleave_outcome(outcome);
}

#define PROGRAM(number)                                                                                        \
    {                                                                                                          \
        "program" #number, "a random program", number % 3 == 0 ? 3 : 2, prepare, body, check, false, {0, {0}}, \
            {0, {0}}, number                                                                                   \
    }
#define PROGRAMS(tens)                                                                                          \
    PROGRAM(tens##0), PROGRAM(tens##1), PROGRAM(tens##2), PROGRAM(tens##3), PROGRAM(tens##4), PROGRAM(tens##5), \
        PROGRAM(tens##6), PROGRAM(tens##7), PROGRAM(tens##8), PROGRAM(tens##9)

static const struct script scripts[] = {
    PROGRAMS(1), PROGRAMS(2),  PROGRAMS(3),  PROGRAMS(4),  PROGRAMS(5),  PROGRAMS(6),  PROGRAMS(7),    PROGRAMS(8),
    PROGRAMS(9), PROGRAMS(10), PROGRAMS(11), PROGRAMS(12), PROGRAMS(13), PROGRAMS(14), {.name = NULL},
};

const struct module interleave_module = {.scripts = scripts};

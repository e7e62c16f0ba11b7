// Random scripts: what nobody thought of. Two or three threads do a few steps each with blocks of one or two classes;
// in some the last thread forks. The script's number says which (see --seed).
#include "scripts.h"
#include "world.h"

#define HAND_MOST 6

struct hand {
    void *blocks[HAND_MOST];
    unsigned classes[HAND_MOST];
    unsigned count;
};
static struct hand hands[THREADS_MOST];

// Steele, Lea and Flood's mix (SplitMix) of the script's number, the thread and the place.
static unsigned choose(unsigned thread, unsigned place, unsigned below) {
    uint64_t mixed = (interleave_argument() * 256 + thread * 32 + place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((mixed ^ mixed >> 31) % below);
}

#define EVERYBODY THREADS_MOST // instead of a thread, where a choice is the script's

static unsigned thread_count(void) {
    return interleave_argument() % 3 == 0 ? 3 : 2;
}

static bool forks(void) {
    return choose(EVERYBODY, 0, 4) == 0;
}

static unsigned class_of_choice(unsigned thread, unsigned place) {
    static const unsigned classes[] = {CLASS_HELD, CLASS_TWO, CLASS_FOUR, CLASS_LARGE, CLASS_ONE};
    return classes[choose(EVERYBODY, 1 + choose(thread, place, 2), 5)]; // one of the script's two
}

static void get(unsigned thread, unsigned class_index, bool by_stack) {
    struct hand *hand = &hands[thread];
    if (hand->count == HAND_MOST)
        return;
    void *block = by_stack ? world_malloc(class_index) : world_take_one(class_index);
    if (block == NULL)
        return;
    hand->blocks[hand->count] = block;
    hand->classes[hand->count++] = class_index;
}

static void give(unsigned thread, bool by_stack) {
    struct hand *hand = &hands[thread];
    if (hand->count == 0)
        return;
    hand->count--;
    if (by_stack)
        world_free(hand->blocks[hand->count]);
    else
        world_put(hand->classes[hand->count], hand->blocks[hand->count]);
}

static void step(unsigned thread, unsigned place) {
    switch (choose(thread, place, 10)) {
    case 0:
    case 1:
        get(thread, class_of_choice(thread, place + 16), false);
        break;
    case 2:
        get(thread, class_of_choice(thread, place + 16), true);
        break;
    case 3:
        give(thread, true);
        break;
    case 4:
        world_empty();
        break;
    default: // what is freed by several threads at once is what the protocol is about
        give(thread, false);
    }
}

// One thread gets blocks, and they are dealt out to all.
static void prepare(void) {
    unsigned threads = thread_count();
    unsigned dealt = 2 + choose(EVERYBODY, 3, 4);
    world_may_lose = forks();
    world_start(threads);
    for (unsigned i = 0; i < dealt; i++) {
        unsigned from = choose(EVERYBODY, 4, 2) == 0 ? 0 : i % 2;
        unsigned to = i % threads;
        struct hand *hand = &hands[to];
        unsigned class_index = class_of_choice(EVERYBODY, 8 + i);
        AS_THREAD(from, hand->blocks[hand->count] = world_take_one(class_index));
        hand->classes[hand->count++] = class_index;
    }
    for (unsigned i = 0; i < 2; i++)
        if (choose(EVERYBODY, 5 + i, 3) == 0)
            AS_THREAD(i, world_empty());
}

static void body(unsigned thread) {
    unsigned steps = 1 + choose(thread, 31, thread_count() == 2 ? 4 : 2);
    bool is_last = thread == thread_count() - 1;
    for (unsigned i = 0; i < steps; i++) {
        if (forks() && is_last && i == steps / 2)
            world_fork();
        step(thread, i);
    }
    if (choose(thread, 30, 4) == 0)
        world_end_thread();
}

#define RANDOM(number)                                                                                      \
    {                                                                                                       \
        .name = "random" #number, .what = "random", .threads = number % 3 == 0 ? 3 : 2, .prepare = prepare, \
        .body = body, .check = world_check, .argument = number                                              \
    }
#define RANDOMS(tens)                                                                                     \
    RANDOM(tens##0), RANDOM(tens##1), RANDOM(tens##2), RANDOM(tens##3), RANDOM(tens##4), RANDOM(tens##5), \
        RANDOM(tens##6), RANDOM(tens##7), RANDOM(tens##8), RANDOM(tens##9)

const struct script random_scripts[] = {
    RANDOMS(1),  RANDOMS(2),  RANDOMS(3),  RANDOMS(4),  RANDOMS(5),  RANDOMS(6),  RANDOMS(7),
    RANDOMS(8),  RANDOMS(9),  RANDOMS(10), RANDOMS(11), RANDOMS(12), RANDOMS(13), RANDOMS(14),
    RANDOMS(15), RANDOMS(16), RANDOMS(17), RANDOMS(18), RANDOMS(19), RANDOMS(20), {.name = NULL},
};

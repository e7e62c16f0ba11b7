// Depths of stacks for the next run.
#include "learn/next_depths.h"

#include <string.h>

#include "heap/heap.h"
#include "sys/options.h"

// Depths are kept that saved this part (1/N) of the processor time, all together: less cannot be told from none.
#define NOTICED_SHARE 200

static struct {
    uint64_t last_ns;                 // of the last note; 0: there was none
    double thread_ns;                 // of all threads together since the first one
    uint64_t busy_before_ns, busy_ns; // of the process before the first note, and until the last one
    struct {
        double moved; // batches times the depth in force, and each times the depth that was decided
        double by_depth;
    } classes[CLASS_END];
} life;
static uint64_t batches_so_far[CLASS_END]; // whichever life moved them

void next_depths_begin_life(void) {
    memset(&life, 0, sizeof life);
}

void next_depths_note(const struct depths_seen *seen, const uint8_t *decided, uint64_t busy_ns) {
    if (life.last_ns != 0)
        life.thread_ns += (double)(seen->now_ns - life.last_ns) * seen->threads;
    else
        life.busy_before_ns = busy_ns;
    life.last_ns = seen->now_ns;
    life.busy_ns = busy_ns;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        unsigned in_force = decided[i] > seen->usual[i] ? decided[i] : seen->usual[i];
        double moved = (double)(seen->batches[i] - batches_so_far[i]) * in_force;
        batches_so_far[i] = seen->batches[i];
        life.classes[i].moved += moved;
        life.classes[i].by_depth += moved * decided[i];
    }
}

static struct depths_life life_of(unsigned class_index) {
    return (struct depths_life){life.classes[class_index].moved, life.thread_ns, (uint32_t)class_bytes(class_index),
                                options.memory_price};
}

// What it has come to, or where the program's last moments were others, what the class had while it moved most blocks;
// and no more than pays from its beginning to its end.
static unsigned choose(unsigned class_index, unsigned least, unsigned now) {
    struct depths_life own = life_of(class_index);
    double mean = own.moved > 0 ? life.classes[class_index].by_depth / own.moved + 0.5 : 0;
    unsigned most = now;
    if (mean >= now + 1)
        most = mean > STACK_MAX_DEPTH * 7.0 / 8 ? STACK_MAX_DEPTH : (unsigned)mean; // only those are parked
    return own.moved > 0 && most > least ? depths_of_life(&own, least, most) : most;
}

// What nobody would notice is not worth the memory that it takes, whatever its price. A process that confines itself
// meanwhile does not say how busy it was any more.
static bool is_noticed(const uint8_t *base, const uint8_t *depths) {
    double saved_ns = 0, busy_ns = (double)life.busy_ns - (double)life.busy_before_ns;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        struct depths_life own = life_of(i);
        saved_ns += depths_saved_ns(&own, base[i], depths[i]);
    }
    return saved_ns * NOTICED_SHARE >= busy_ns;
}

// Of a class that was not used what a file says stays.
void next_depths_choose(const uint8_t *base, const uint8_t *decided, uint8_t *depths) {
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        depths[i] = (uint8_t)choose(i, base[i], decided[i]);
    if (is_noticed(base, depths))
        return;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        depths[i] = life.classes[i].moved > 0 ? base[i] : depths[i];
}

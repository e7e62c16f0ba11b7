// Turns a trace into what each thread of a replay does.
#include "plan.h"

#include "merge.h"

#define NO_THREAD UINT32_MAX

struct planning {
    struct plan *plan;
    uint32_t *stretch_of; // per thread, 1 + the stretch it has entered last; 0: not started
    size_t stretch_room;
    uint32_t stretch;
    uint64_t stretch_steps, stretch_bytes;
    uint32_t last_thread;
};

static void add(struct plan_thread *thread, struct op op) {
    if (thread->count == thread->room) {
        size_t room = thread->room == 0 ? 256 : 2 * thread->room;
        thread->ops = memory_grow(thread->ops, thread->room * sizeof *thread->ops, room * sizeof *thread->ops);
        thread->room = room;
    }
    thread->ops[thread->count++] = op;
}

static void next_stretch(struct planning *planning) {
    struct plan *plan = planning->plan;
    planning->stretch++;
    planning->stretch_steps = planning->stretch_bytes = 0;
    if (planning->stretch == planning->stretch_room) {
        size_t room = 2 * planning->stretch_room;
        plan->in_stretch = memory_grow(plan->in_stretch, planning->stretch_room * sizeof *plan->in_stretch,
                                       room * sizeof *plan->in_stretch);
        planning->stretch_room = room;
    }
}

// Before a thread's first step of a stretch: it is started by whoever did the step before, and enters.
static void enter(struct planning *planning, uint32_t thread) {
    struct plan *plan = planning->plan;
    if (planning->stretch_of[thread] == 0) {
        if (planning->last_thread == NO_THREAD)
            plan->first_thread = thread;
        else
            add(&plan->threads[planning->last_thread], (struct op){.place = thread, .kind = OP_START});
    }
    planning->stretch_of[thread] = planning->stretch + 1;
    plan->in_stretch[planning->stretch]++;
    add(&plan->threads[thread], (struct op){.place = planning->stretch, .kind = OP_ENTER});
}

static void add_step(struct planning *planning, const struct step *step, uint64_t live_bytes) {
    static const uint8_t kinds[] = {[STEP_TAKE] = OP_TAKE,
                                    [STEP_TAKE_ZEROED] = OP_TAKE_ZEROED,
                                    [STEP_TAKE_ALIGNED] = OP_TAKE_ALIGNED,
                                    [STEP_MOVE] = OP_MOVE,
                                    [STEP_GIVE] = OP_GIVE};
    uint64_t most = live_bytes / STRETCH_SHARE > STRETCH_LEAST_BYTES ? live_bytes / STRETCH_SHARE : STRETCH_LEAST_BYTES;
    if (planning->stretch_steps >= STRETCH_STEPS || planning->stretch_bytes > most)
        next_stretch(planning);
    if (planning->stretch_of[step->thread] != planning->stretch + 1)
        enter(planning, step->thread);
    planning->stretch_steps++;
    planning->stretch_bytes += step->kind == STEP_GIVE ? step->block->bytes : step->bytes;
    planning->last_thread = step->thread;
    add(&planning->plan->threads[step->thread],
        (struct op){.place = step->place,
                    .kind = kinds[step->kind],
                    .align_log2 = step->kind == STEP_TAKE_ALIGNED ? (uint8_t)step->block->align_log2 : 0,
                    .bytes = step->bytes});
}

void plan_make(struct plan *plan, const struct trace *trace) {
    struct merge merge;
    struct step step;
    struct planning planning = {.plan = plan, .stretch_room = 4096, .last_thread = NO_THREAD};
    *plan = (struct plan){.thread_count = trace->thread_count};
    plan->threads = memory_map((trace->thread_count + 1) * sizeof *plan->threads);
    plan->in_stretch = memory_map(planning.stretch_room * sizeof *plan->in_stretch);
    planning.stretch_of = memory_map((trace->thread_count + 1) * sizeof *planning.stretch_of);
    merge_start(&merge, trace, 4 * STRETCH_STEPS);
    while (merge_next(&merge, &step))
        add_step(&planning, &step, merge.live_bytes);
    plan->places = (uint32_t)merge.block_count;
    plan->stretches = planning.stretch + 1;
    plan->steps = merge.steps;
    plan->failed = merge.failed;
    plan->unknown = merge.unknown;
    plan->missed = merge.missed;
    plan->peak_live_bytes = merge.peak_live_bytes;
    plan->peak_live_blocks = merge.peak_live_blocks;
    plan->bytes_taken = merge.bytes_taken;
    memory_unmap(planning.stretch_of, (trace->thread_count + 1) * sizeof *planning.stretch_of);
    merge_end(&merge);
}

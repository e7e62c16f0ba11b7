// Site rules in a running process.
#include "learn/rules.h"

#include <string.h>

#include "big/routes.h"
#include "policy/tryout.h"
#include "policy/ucb.h"
#include "sample/callers.h"
#include "sys/options.h"
#include "sys/os.h"

#define ARMS_MOST (CALLERS_RANGES + 1) // and the default
_Static_assert(ARMS_MOST <= UCB_ARMS_MOST, "all of them play");

struct rule {
    uintptr_t site;              // 0: free
    size_t arm_bytes[ARMS_MOST]; // thresholds of the arms; 0: no rule
    struct ucb ucb;
    uint32_t plays_before; // of those that ucb has, the parent's
    size_t adopted_bytes;  // threshold; 0: none
    uint64_t adopted_ns;
};

static struct {
    struct rule rules[RULES_SITES];
    struct rule *playing;  // NULL: nobody is
    struct tryout tryout;  // of its arms
    size_t big_threshold;  // that holds for others
    unsigned idle_windows; // in a row
    uint64_t next_fade_ns;
} player;

// For the file: by whoever writes it, under learn_lock, and then without.
static struct {
    struct policy_site rows[RULES_SITES]; // without names
    uintptr_t sites[RULES_SITES];
    unsigned count;
} site_rules;

static void force(const struct rule *rule, size_t threshold) {
    if (threshold == 0)
        routes_drop(rule->site);
    else
        routes_set(rule->site, threshold);
}

static void force_arm(const struct rule *rule) {
    force(rule, rule->arm_bytes[ucb_arm_now(&rule->ucb)]);
}

// --- Who plays -------------------------------------------------------------------------------------------------------

// Ranges, of those a site asks for, whose blocks are mappings where that is the threshold.
static uint32_t mapped_ranges(uint32_t ranges, size_t threshold) {
    uint32_t mapped = 0;
    for (unsigned i = 0; i < CALLERS_RANGES; i++)
        mapped |= callers_range_bytes[i] >= threshold ? ranges & 1u << i : 0;
    return mapped;
}

// Lists the thresholds that differ for the site. Of those that do the same it is the largest: fewer size classes lose
// their stacks. Returns how many, the default among them.
static unsigned list_arms(size_t *bytes, uint32_t ranges, size_t big_threshold) {
    uint32_t standard = mapped_ranges(ranges, big_threshold), before = standard;
    unsigned count = 1;
    bytes[0] = 0;
    for (unsigned i = 0; i < CALLERS_RANGES; i++) {
        uint32_t mapped = mapped_ranges(ranges, callers_range_bytes[i]);
        count += mapped != before && mapped != standard;
        if (mapped != standard)
            bytes[count - 1] = callers_range_bytes[i];
        before = mapped;
    }
    return count;
}

static struct rule *rule_of(uintptr_t site) {
    for (unsigned i = 0; i < RULES_SITES; i++)
        if (player.rules[i].site == site)
            return &player.rules[i];
    return NULL;
}

// The site's place, a free one, or one whose site has no rule and has rested; NULL: there is none.
static struct rule *rule_place(uintptr_t site, uint64_t now_ns) {
    struct rule *place = rule_of(site);
    place = place != NULL ? place : rule_of(0);
    for (unsigned i = 0; i < RULES_SITES && place == NULL; i++)
        if (player.rules[i].adopted_bytes == 0 && now_ns >= player.rules[i].ucb.rests_until_ns)
            place = &player.rules[i];
    return place;
}

// The arm that does what the rule that was adopted does, and gets its threshold: the site may ask for other sizes by
// now. That may be the default.
static unsigned hold_adopted(size_t *bytes, unsigned arms, uint32_t ranges, size_t adopted_bytes) {
    uint32_t mapped = mapped_ranges(ranges, adopted_bytes);
    unsigned held = 0;
    for (unsigned i = 1; i < arms; i++)
        held = mapped_ranges(ranges, bytes[i]) == mapped ? i : held;
    bytes[held] = adopted_bytes;
    return held;
}

// True: the site plays from now on.
static bool begin_plays(const struct caller *caller, uint64_t now_ns) {
    struct rule *rule = rule_place(caller->site, now_ns);
    bool is_known = rule != NULL && rule->site == caller->site;
    bool is_ruled = routes_find(caller->site, 0) != 0 && !is_known; // by a file
    size_t bytes[ARMS_MOST];
    unsigned arms = list_arms(bytes, caller->ranges, player.big_threshold), held = 0;
    if (rule == NULL || is_ruled || arms < 2 || (is_known && now_ns < rule->ucb.rests_until_ns) ||
        !routes_has_room(caller->site))
        return false;
    if (!is_known)
        *rule = (struct rule){.site = caller->site};
    if (rule->adopted_bytes != 0)
        held = hold_adopted(bytes, arms, caller->ranges, rule->adopted_bytes);
    memcpy(rule->arm_bytes, bytes, sizeof bytes);
    ucb_start(&rule->ucb, arms, held, RULES_WORTH_NS);
    rule->plays_before = 0;
    player.playing = rule;
    player.idle_windows = 0;
    tryout_start(&player.tryout);
    return true;
}

// The busiest site that does not rest, if there is one.
static void choose_site(uint64_t now_ns) {
    struct caller busiest[RULES_SITES];
    unsigned count = callers_list(busiest, RULES_SITES);
    for (unsigned i = 0; i < count && player.playing == NULL; i++)
        if (busiest[i].bytes >= RULES_LEAST_BYTES)
            begin_plays(&busiest[i], now_ns);
    if (player.playing != NULL || now_ns < player.next_fade_ns)
        return;
    callers_fade();
    player.next_fade_ns = now_ns + SECOND_NS;
}

// --- Playing ---------------------------------------------------------------------------------------------------------

static struct tryout_seen seen_of_site(const struct observation *seen) {
    return observed_for_tryout(seen, callers_bytes(player.playing->site));
}

static void begin_window(const struct observation *seen) {
    struct tryout_seen now = seen_of_site(seen);
    unsigned arm = ucb_arm_now(&player.playing->ucb);
    force_arm(player.playing);
    tryout_begin_window(&player.tryout, &now, arm, 0);
}

static void end_plays(uint64_t now_ns) {
    struct rule *rule = player.playing;
    size_t before = rule->adopted_bytes;
    rule->adopted_bytes = rule->arm_bytes[rule->ucb.held];
    rule->adopted_ns = rule->adopted_bytes != before ? now_ns : rule->adopted_ns;
    force_arm(rule);
    player.playing = NULL;
}

static void end_window(const struct observation *seen) {
    struct ucb *ucb = &player.playing->ucb;
    struct tryout_seen now = seen_of_site(seen);
    double cost;
    enum tryout_result result = tryout_end_window(&player.tryout, &now, &cost);
    if (result == TRYOUT_SETTLES)
        return;
    if (result == TRYOUT_COUNTS) {
        bool is_over = ucb_note(ucb, cost, seen->now_ns);
        if (ucb->window == 0) // both of the pair counted
            player.idle_windows = 0;
        if (is_over)
            end_plays(seen->now_ns);
        return;
    }
    ucb_drop_window(ucb);
    if (++player.idle_windows < RULES_IDLE_WINDOWS)
        return;
    ucb_give_up(ucb, seen->now_ns);
    end_plays(seen->now_ns);
}

void rules_begin_life(void) {
    for (unsigned i = 0; i < RULES_SITES; i++)
        player.rules[i].plays_before = player.rules[i].ucb.plays;
    rules_pause();
    player.tryout.regret_ns = 0;
}

void rules_pause(void) {
    if (player.playing == NULL)
        return;
    force(player.playing, player.playing->adopted_bytes);
    ucb_drop_window(&player.playing->ucb);
    tryout_break_off(&player.tryout);
}

double rules_regret_ns(void) {
    return player.tryout.regret_ns;
}

bool rules_step(const struct observation *seen, size_t big_threshold, enum tryout_leave leave) {
    if (big_threshold != player.big_threshold) { // what arms are compared with is not what it was
        rules_pause();
        player.playing = NULL;
        player.big_threshold = big_threshold;
    }
    if (player.playing != NULL && tryout_has_window(&player.tryout)) {
        if (!tryout_is_due(&player.tryout, seen->now_ns))
            return true;
        end_window(seen);
    }
    if (leave == TRYOUT_MAY_NOT && (player.playing == NULL || player.playing->ucb.window == 0)) {
        rules_pause();
        return false;
    }
    if (player.playing == NULL)
        choose_site(seen->now_ns);
    if (player.playing != NULL)
        begin_window(seen);
    return player.playing != NULL;
}

// --- For the file ----------------------------------------------------------------------------------------------------

// The module is found at the end alone: the dynamic linker's lock may be held by a thread that waits for ours, or for a
// lock of the program that our caller has. So rules for what was loaded later are lost where anything was unloaded.
void rules_add_noted(struct policy *policy) {
    for (unsigned i = 0; i < site_rules.count && policy->site_count < POLICY_SITES_MOST; i++) {
        struct policy_site *row = &policy->sites[policy->site_count];
        uintptr_t base;
        *row = site_rules.rows[i];
        if (!os_find_module_of(site_rules.sites[i], row->module, sizeof row->module, &base))
            continue;
        row->offset = site_rules.sites[i] - base;
        policy->site_count++;
    }
}

static void note_rule(const struct rule *rule, uint64_t start_ns) {
    struct policy_site *row = &site_rules.rows[site_rules.count];
    site_rules.sites[site_rules.count++] = rule->site;
    *row = (struct policy_site){0};
    row->threshold_bytes = rule->adopted_bytes;
    row->evidence.windows = 2 * (rule->ucb.plays - rule->plays_before);
    row->evidence.gain_permille = ucb_gain_permille(&rule->ucb);
    bool is_own = rule->adopted_ns >= start_ns; // not the parent's
    row->evidence.since_seconds = is_own ? (uint32_t)((rule->adopted_ns - start_ns) / SECOND_NS) : 0;
    memcpy(row->evidence.why, "ucb1", sizeof "ucb1");
}

void rules_note(uint64_t start_ns) {
    site_rules.count = 0;
    for (unsigned i = 0; i < RULES_SITES; i++)
        if (player.rules[i].adopted_bytes != 0)
            note_rule(&player.rules[i], start_ns);
}

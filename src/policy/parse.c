// Reads policy files: every word known, every number within its range, nothing missing at the end.
#include <string.h>

#include "policy/policy.h"

struct cursor {
    const char *next;
    const char *end; // of the line; its text ends with it
    struct policy_fault *fault;
};

// A word that does not end with NUL; length 0: there is none.
struct word {
    const char *start;
    size_t length;
};

static bool is_space(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\r';
}

static struct word word_next(struct cursor *cursor) {
    while (cursor->next < cursor->end && is_space(*cursor->next))
        cursor->next++;
    struct word word = {cursor->next, 0};
    while (cursor->next < cursor->end && !is_space(*cursor->next) && *cursor->next != '#') {
        cursor->next++;
        word.length++;
    }
    return word;
}

static bool word_is(struct word word, const char *text) {
    return strlen(text) == word.length && memcmp(word.start, text, word.length) == 0;
}

static bool wrong(struct cursor *cursor, const char *what, const char *wanted) {
    cursor->fault->what = what;
    cursor->fault->wanted = wanted;
    return false;
}

static bool word_number(struct word word, unsigned base, uint64_t *number) {
    *number = 0;
    for (size_t i = 0; i < word.length; i++) {
        char letter = word.start[i];
        unsigned digit = letter >= '0' && letter <= '9'   ? (unsigned)(letter - '0')
                         : letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a') + 10
                         : letter >= 'A' && letter <= 'F' ? (unsigned)(letter - 'A') + 10
                                                          : base;
        if (digit >= base || __builtin_mul_overflow(*number, base, number) ||
            __builtin_add_overflow(*number, digit, number))
            return false;
    }
    return word.length > 0;
}

// The next word as a number within limits.
static bool take_number(struct cursor *cursor, uint64_t least, uint64_t most, uint64_t *number) {
    return (word_number(word_next(cursor), 10, number) && *number >= least && *number <= most) ||
           wrong(cursor, "a number is missing or out of range", "a whole number within the limits of docs/policy.md");
}

static bool copy_word(struct cursor *cursor, struct word word, char *text, size_t size) {
    if (word.length == 0 || word.length >= size)
        return wrong(cursor, "a word is missing or too long",
                     size < POLICY_WORD_LENGTH ? "a word of at most 15 letters" : "a name of at most 63 letters");
    memcpy(text, word.start, word.length);
    text[word.length] = '\0';
    return true;
}

static bool take_end(struct cursor *cursor) {
    return word_next(cursor).length == 0 || wrong(cursor, "a word too many at the end of the line", "nothing, or #");
}

// Of a name, which is empty before its line.
static bool take_name(struct cursor *cursor, char *text, size_t size) {
    if (text[0] != '\0')
        return wrong(cursor, "a name stands here for the second time", "one line each");
    return copy_word(cursor, word_next(cursor), text, size) && take_end(cursor);
}

static bool take_count(struct cursor *cursor, uint64_t most, uint64_t *number) {
    if (*number != 0)
        return wrong(cursor, "a count stands here for the second time", "one line each");
    return take_number(cursor, 0, most, number) && take_end(cursor);
}

// The part of a word behind "key=", or none.
static struct word word_after(struct word word, const char *key) {
    size_t length = strlen(key);
    if (word.length <= length || memcmp(word.start, key, length) != 0)
        return (struct word){word.start, 0};
    return (struct word){word.start + length, word.length - length};
}

static bool take_evidence(struct cursor *cursor, struct evidence *evidence) {
    for (struct word word = word_next(cursor); word.length > 0; word = word_next(cursor)) {
        uint64_t number = 0;
        struct word gain = word_after(word, "gain=");
        bool is_loss = gain.length > 1 && *gain.start == '-';
        if (word_number(word_after(word, "windows="), 10, &number) && number <= UINT32_MAX)
            evidence->windows = (uint32_t)number;
        else if (word_number(word_after(word, "since="), 10, &number) && number <= UINT32_MAX)
            evidence->since_seconds = (uint32_t)number;
        else if (word_number((struct word){gain.start + is_loss, gain.length - is_loss}, 10, &number) &&
                 number <= INT32_MAX)
            evidence->gain_permille = is_loss ? -(int32_t)number : (int32_t)number;
        else if (word_after(word, "why=").length == 0)
            return wrong(cursor, "a word that is not known, or its number is out of range",
                         "windows=N, gain=N, since=N or why=WORD");
        else if (!copy_word(cursor, word_after(word, "why="), evidence->why, sizeof evidence->why))
            return false;
    }
    return true;
}

static bool wrong_again(struct cursor *cursor) {
    return wrong(cursor, "a size or call site stands here for the second time", "one line each");
}

static bool take_class(struct cursor *cursor, struct policy_class *classes, unsigned *count, unsigned most) {
    uint64_t bytes;
    if (*count == most)
        return wrong(cursor, "too many lines of this kind", "");
    struct policy_class *row = &classes[*count];
    if (!take_number(cursor, BLOCK_ALIGN, CLASS_LARGE_MAX, &bytes))
        return false;
    for (unsigned i = 0; i < *count; i++)
        if (classes[i].bytes == bytes)
            return wrong_again(cursor);
    row->bytes = (uint32_t)bytes;
    ++*count;
    return take_evidence(cursor, &row->evidence);
}

static bool take_depth(struct cursor *cursor, struct policy *policy) {
    uint64_t bytes, depth;
    if (policy->depth_count == POLICY_DEPTHS_MOST)
        return wrong(cursor, "too many lines of this kind", "");
    if (!take_number(cursor, BLOCK_ALIGN, CLASS_LARGE_MAX, &bytes) || !take_number(cursor, 1, STACK_MAX_DEPTH, &depth))
        return false;
    for (unsigned i = 0; i < policy->depth_count; i++)
        if (policy->depths[i].bytes == bytes)
            return wrong_again(cursor);
    policy->depths[policy->depth_count++] = (struct policy_depth){(uint32_t)bytes, (uint32_t)depth};
    struct evidence unused = {0};
    return take_evidence(cursor, &unused);
}

// A letter of a name, or the number of one behind %: two digits.
static char take_letter(struct word *word) {
    uint64_t code;
    bool is_number =
        word->length > 2 && *word->start == '%' && word_number((struct word){word->start + 1, 2}, 16, &code);
    char letter = is_number ? (char)code : *word->start;
    size_t length = is_number ? 3 : 1;
    *word = (struct word){word->start + length, word->length - length};
    return letter;
}

static bool copy_module(struct cursor *cursor, struct word word, char *text, size_t size) {
    size_t length = 0;
    while (word.length > 0 && length < size && (length == 0 || text[length - 1] != '\0'))
        text[length++] = take_letter(&word);
    if (length == size || text[length - 1] == '\0')
        return wrong(cursor, "the name of a module is damaged or too long", "a name of at most 63 letters");
    text[length] = '\0';
    return true;
}

static bool take_site(struct cursor *cursor, struct policy *policy) {
    static const char wanted[] = "site MODULE+0xOFFSET BYTES";
    if (policy->site_count == POLICY_SITES_MOST)
        return wrong(cursor, "too many lines of this kind", "");
    struct policy_site *site = &policy->sites[policy->site_count];
    struct word word = word_next(cursor), module = word;
    while (module.length > 0 && module.start[module.length - 1] != '+')
        module.length--;
    struct word offset = word_after((struct word){word.start + module.length, word.length - module.length}, "0x");
    uint64_t bytes;
    if (module.length < 2 || !word_number(offset, 16, &site->offset))
        return wrong(cursor, "a call site is missing or damaged", wanted);
    module.length--;
    if (!copy_module(cursor, module, site->module, sizeof site->module) ||
        !take_number(cursor, SITE_LEAST_BYTES, BIG_THRESHOLD_MAX_BYTES, &bytes))
        return false;
    for (unsigned i = 0; i < policy->site_count; i++)
        if (policy->sites[i].offset == site->offset && strcmp(policy->sites[i].module, site->module) == 0)
            return wrong_again(cursor);
    site->threshold_bytes = bytes;
    policy->site_count++;
    return take_evidence(cursor, &site->evidence);
}

static bool take_decision(struct cursor *cursor, struct word name, struct policy *policy) {
    for (unsigned i = 0; i < DECISION_COUNT; i++) {
        if (!word_is(name, decision_rows[i].name))
            continue;
        uint64_t number;
        struct policy_value *value = &policy->values[i];
        if (value->is_given)
            return wrong(cursor, "a decision stands here for the second time", "one line each");
        if (!take_number(cursor, decision_rows[i].least, decision_rows[i].most, &number))
            return false;
        value->is_given = true;
        value->value = number;
        return take_evidence(cursor, &value->evidence);
    }
    return wrong(cursor, "a word that is not known begins the line", "a decision of docs/policy.md");
}

static bool take_line(struct cursor *cursor, struct policy *policy) {
    struct word name = word_next(cursor);
    if (name.length == 0)
        return true;
    if (word_is(name, "program"))
        return take_name(cursor, policy->program, sizeof policy->program);
    if (word_is(name, "build"))
        return take_name(cursor, policy->build, sizeof policy->build);
    if (word_is(name, "runs"))
        return take_count(cursor, UINT32_MAX, &policy->runs);
    if (word_is(name, "seconds"))
        return take_count(cursor, UINT64_MAX, &policy->seconds);
    if (word_is(name, "class"))
        return take_class(cursor, policy->classes, &policy->class_count, CLASS_SPARE_COUNT);
    if (word_is(name, "close"))
        return take_class(cursor, policy->closed, &policy->closed_count, CLASS_COUNT);
    if (word_is(name, "depth"))
        return take_depth(cursor, policy);
    if (word_is(name, "site"))
        return take_site(cursor, policy);
    return take_decision(cursor, name, policy);
}

static bool take_version(struct cursor *cursor) {
    uint64_t version;
    cursor->fault->is_foreign = true;
    if (!word_is(word_next(cursor), "hakmem-policy") || !word_number(word_next(cursor), 10, &version))
        return wrong(cursor, "this is no policy file", "hakmem-policy 1 in its first line");
    if (version != POLICY_VERSION)
        return wrong(cursor, "the file is of another version", "hakmem-policy 1: learn it anew with this release");
    cursor->fault->is_foreign = false;
    return take_end(cursor);
}

bool policy_parse(const char *text, size_t length, struct policy *policy, struct policy_fault *fault) {
    memset(policy, 0, sizeof *policy);
    *fault = (struct policy_fault){.what = "", .wanted = ""};
    const char *end = text + length, *line_end = NULL;
    for (; text < end; text = line_end + (line_end < end)) {
        line_end = memchr(text, '\n', (size_t)(end - text));
        line_end = line_end != NULL ? line_end : end;
        struct cursor cursor = {text, line_end, fault}, first = cursor;
        fault->line++;
        if (fault->line > 1 && word_is(word_next(&first), "end"))
            return take_end(&first);
        if (fault->line == 1 ? !take_version(&cursor) : !take_line(&cursor, policy))
            return false;
    }
    fault->what = length == 0 ? "the file is empty" : "the file ends too early";
    fault->wanted = "a line 'end' behind the last one";
    return false;
}

void policy_apply(const struct policy *policy, struct snapshot *snapshot) {
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        if (policy->values[i].is_given)
            *snapshot_field(snapshot, (enum decision)i) = policy->values[i].value;
}

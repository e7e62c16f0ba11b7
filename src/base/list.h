// An intrusive doubly linked ring with a sentinel: O(1) insertion and removal, no allocation.
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/compiler.h"

struct list {
    struct list *next;
    struct list *previous;
};

ALWAYS_INLINE void list_init(struct list *list) {
    list->next = list;
    list->previous = list;
}

ALWAYS_INLINE bool list_is_empty(const struct list *list) {
    return list->next == list;
}

ALWAYS_INLINE void list_add_last(struct list *list, struct list *node) {
    node->next = list;
    node->previous = list->previous;
    list->previous->next = node;
    list->previous = node;
}

ALWAYS_INLINE void list_add_first(struct list *list, struct list *node) {
    list_add_last(list->next, node);
}

ALWAYS_INLINE void list_remove(struct list *node) {
    node->previous->next = node->next;
    node->next->previous = node->previous;
    list_init(node);
}

// The first becomes the last.
ALWAYS_INLINE void list_rotate(struct list *list) {
    struct list *first = list->next;
    list_remove(first);
    list_add_last(list, first);
}

#define LIST_OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

#endif

// The intrusive ring against an array.
#include "unit/unit.h"

#include "base/list.h"

struct record {
    int number;
    struct list link;
};

static struct record *record_of(struct list *node) {
    return LIST_OWNER(node, struct record, link);
}

static void check_order(struct list *list, const int *numbers, size_t count) {
    struct list *node = list;
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(node->next->previous, node);
        node = node->next;
        assert_ptr_not_equal(node, list);
        assert_int_equal(record_of(node)->number, numbers[i]);
    }
    assert_ptr_equal(node->next, list);
    assert_ptr_equal(list->previous, node);
    assert_int_equal(list_is_empty(list), count == 0);
}

static void a_new_list_is_empty(void **state) {
    struct list list;
    (void)state;
    list_init(&list);
    check_order(&list, NULL, 0);
}

static void nodes_come_in_the_order_they_were_added(void **state) {
    struct record records[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    struct list list;
    (void)state;
    list_init(&list);
    list_add_last(&list, &records[0].link);
    list_add_last(&list, &records[1].link);
    list_add_first(&list, &records[2].link);
    list_add_first(&list, &records[3].link);
    check_order(&list, (const int[]){4, 3, 1, 2}, 4);
}

static void a_removed_node_stands_alone(void **state) {
    struct record records[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct list list;
    (void)state;
    list_init(&list);
    for (unsigned i = 0; i < 3; i++)
        list_add_last(&list, &records[i].link);
    list_remove(&records[1].link);
    check_order(&list, (const int[]){1, 3}, 2);
    assert_true(list_is_empty(&records[1].link));
    list_remove(&records[1].link); // again: nothing happens
    check_order(&list, (const int[]){1, 3}, 2);
}

static void random_changes_keep_the_order_of_a_model(void **state) {
    enum { RECORDS = 20 };
    struct record records[RECORDS];
    int model[RECORDS];
    size_t count = 0;
    struct list list;
    struct random random = random_start();
    (void)state;
    list_init(&list);
    for (int i = 0; i < RECORDS; i++) {
        records[i].number = i;
        list_init(&records[i].link);
    }
    for (unsigned step = 0; step < 20000; step++) {
        int number = (int)random_below(&random, RECORDS);
        size_t place = 0;
        while (place < count && model[place] != number)
            place++;
        if (place < count) {
            list_remove(&records[number].link);
            memmove(model + place, model + place + 1, (--count - place) * sizeof *model);
        } else if (random_below(&random, 2) == 0) {
            list_add_first(&list, &records[number].link);
            memmove(model + 1, model, count++ * sizeof *model);
            model[0] = number;
        } else {
            list_add_last(&list, &records[number].link);
            model[count++] = number;
        }
        check_order(&list, model, count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_list_is_empty),
        cmocka_unit_test(nodes_come_in_the_order_they_were_added),
        cmocka_unit_test(a_removed_node_stands_alone),
        cmocka_unit_test(random_changes_keep_the_order_of_a_model),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}

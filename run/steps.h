/* Steps of training, as the names of checkpoints and results state them. */
#ifndef REACH_RUN_STEPS_H
#define REACH_RUN_STEPS_H

#include "io/text_list.h"

#include <stddef.h>

enum steps_stated {
    STEPS_NONE, /* not all have one, or not after the same beginning */
    STEPS_NUMBERS, /* all are plain numbers, which may be something else */
    STEPS_STATED
};

/* Fills steps [count] with what the texts state: run/checkpoint-200, ORG/NAME@step1000,
 * iter_0000500, or a last part of a path that is only a number: run/1000. A number may end in k, M
 * or B, of which one is enough for STEPS_STATED. What is before the number is the same in all. */
enum steps_stated steps_find(double *steps, const char *const *texts, size_t count);
/* Sorts the list by ascending step if steps_find returns at least `least`; equal steps keep their
 * order. -1: memory ran out. */
int steps_sort(struct text_list *l, enum steps_stated least, struct error *e) MUST_USE;

#endif

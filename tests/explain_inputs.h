/* What the tests of questions to `reach explain` run on, and comparisons with what
 * tests/goldens/explain/questions.py found. */
#ifndef REACH_TESTS_EXPLAIN_INPUTS_H
#define REACH_TESTS_EXPLAIN_INPUTS_H

#include "io/formats/csv.h"

#include <jansson.h>
#include <stddef.h>

/* The last one of the models is asked for an answer only. */
enum { EXPLAIN_QUESTIONS_MOST = 32, EXPLAIN_MODELS = 2, EXPLAIN_MODELS_ALL };
#define EXPLAIN_TOLERANCE 1e-9

extern struct csv_table explain_want; /* questions.csv */
extern char explain_saved[4096]; /* tests/goldens/saved */
extern json_t *explain_question[EXPLAIN_QUESTIONS_MOST]; /* the lines of questions.jsonl */
extern size_t explain_question_count;
extern const char *const explain_models[EXPLAIN_MODELS_ALL];

/* A group's setup and teardown. */
int explain_inputs(void **state);
int explain_inputs_free(void **state);

/* The next row of `quantity` of a question from row *i on; 0: none. *i is then behind it. */
int explain_row(size_t *i, const char *model, int number_of, const char *quantity);

/* The rows of explain.csv from *at_row on, of one target, against the rows of the golden from *from
 * on; both are then behind it. */
void assert_explained(const struct csv_table *got, size_t *at_row, size_t *from, size_t model,
                      int asked);

void assert_near(double got, double expected, double most, const char *what);

#endif

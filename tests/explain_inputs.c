#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/explain_inputs.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv_table explain_want;
char explain_saved[4096];
json_t *explain_question[EXPLAIN_QUESTIONS_MOST];
size_t explain_question_count;
const char *const explain_models[EXPLAIN_MODELS_ALL] = {"gpt2", "llama", "mistral"};

int explain_inputs(void **state)
{
    const struct tiny bytes = {.seed = 1}, no_texts = {.seed = 2, .vocabulary = 24};
    const int32_t ids[] = {1, 2, 3, 4};
    char *lines, *text;

    (void)state;
    if (program_open() != 0 || !realpath("tests/goldens/saved", explain_saved))
        return -1;
    explain_want = read_table("tests/goldens/explain/questions.csv");
    lines = slurp("tests/goldens/explain/questions.jsonl", NULL);
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"))
        if (!(explain_question[explain_question_count++] = json_loads(line, 0, NULL)))
            return -1;
    free(lines);
    text = slurp("tests/goldens/saved/text.txt", NULL);
    scratch_write(base, "long", text, 1200);
    free(text);
    return tiny_text(at("text"), 90, 4) != 0 || tiny_checkpoint(at("bytes"), &bytes) != 0 ||
                   tiny_checkpoint(at("no-texts"), &no_texts) != 0 ||
                   tiny_npy(at("ids.npy"), ids, 0, 4) != 0
               ? -1
               : 0;
}

int explain_inputs_free(void **state)
{
    while (explain_question_count > 0)
        json_decref(explain_question[--explain_question_count]);
    csv_table_free(&explain_want);
    return program_close(state);
}

int explain_row(size_t *i, const char *model, int number_of, const char *quantity)
{
    for (; *i < explain_want.rows; ++*i)
        if (strcmp(cell(&explain_want, *i, "model"), model) == 0 &&
            number(&explain_want, *i, "question") == number_of &&
            strcmp(cell(&explain_want, *i, "quantity"), quantity) == 0)
            return ++*i, 1;
    return 0;
}

void assert_near(double got, double expected, double most, const char *what)
{
    if (!(fabs(got - expected) <= most))
        fail_msg("%s: %.17g (expected %.17g)", what, got, expected);
}

void assert_explained(const struct csv_table *got, size_t *at_row, size_t *from, size_t model,
                      int asked)
{
    const char *name = explain_models[model];
    double sum = 0;
    size_t first = *from, target = first, n = 0;
    char what[96];

    snprintf(what, sizeof what, "%s, question %d", name, asked);
    assert_true(explain_row(&target, name, asked, "target"));
    for (size_t i = first; explain_row(&i, name, asked, "norm") && i < target; n++)
        sum += number(&explain_want, i - 1, "value");
    assert_int_equal(n, (int)number(&explain_want, target - 1, "place") - 1);
    for (size_t k = 0, i = first; k < n; k++, ++*at_row) {
        double norm;

        assert_true(explain_row(&i, name, asked, "norm"));
        norm = number(&explain_want, i - 1, "value");
        assert_string_equal(cell(got, *at_row, "id"), cell(&explain_want, i - 1, "id"));
        assert_near(number(got, *at_row, "norm"), norm, 10 * EXPLAIN_TOLERANCE * norm, what);
        assert_near(number(got, *at_row, "share"), norm / sum, EXPLAIN_TOLERANCE, what);
        assert_string_equal(cell(got, *at_row, "target_id"), cell(&explain_want, target - 1, "id"));
        assert_string_equal(cell(got, *at_row, "target_position"),
                            cell(&explain_want, target - 1, "place"));
        assert_near(number(got, *at_row, "target_logprob"),
                    number(&explain_want, target - 1, "value"), EXPLAIN_TOLERANCE, what);
    }
    *from = target;
}

/* A model that is written to while a verb reads from it: the verb stops and keeps nothing that is
 * doubtful. */
#include "tests/program.h"
#include "tests/tiny.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char weights[] = "model/model.safetensors";

/* The bytes of a file become those of another, in place. */
static void overwrite(const char *to, const char *from)
{
    size_t size;
    char *bytes = slurp(from, &size);
    int descriptor = open(to, O_WRONLY);

    assert_non_null(bytes);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, size), size);
    assert_int_equal(close(descriptor), 0);
    free(bytes);
}

static size_t size_of(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 ? (size_t)found.st_size : 0;
}

/* 1 once the program has mapped the weights, and so knows what they were. */
static int is_mapped(pid_t child)
{
    char path[64];
    char *maps;
    int found;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
    maps = slurp(path, NULL);
    found = maps && strstr(maps, weights) != NULL;
    free(maps);
    return found;
}

struct point {
    const char *path;
    size_t bytes;
};

static int is_begun(const struct system_call *c, void *of)
{
    const struct point *p = of;

    return c->made && (!p->path || size_of(p->path) >= p->bytes) && is_mapped(c->run);
}

/* Starts `reach LINE` and holds it where PATH has `bytes` bytes and the model is mapped. */
static pid_t begin(const char *line, const char *path, size_t bytes)
{
    pid_t child = start_held(line, NULL, is_begun, &(struct point){path, bytes});

    if (!is_mapped(child))
        fail_msg("reach %s\nended by itself: %s", line, slurp(at("stderr"), NULL));
    return child;
}

static void assert_stopped(struct outcome o, const char *named)
{
    if (o.status != 1 || lines(o.err) != 1 || *o.out || !strstr(o.err, named) ||
        !strstr(o.err, "was changed while it was in use"))
        fail_msg("exit %d: %s%s", o.status, o.err, o.out);
    outcome_free(&o);
}

static void assert_same(const char *a, const char *b)
{
    static const char *const names[] = {"erf.h5", "curve.csv", "summary.csv", "attention.csv"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size_a, size_b;
        char *x = slurp(at("%s/%s", a, names[i]), &size_a),
             *y = slurp(at("%s/%s", b, names[i]), &size_b);

        if (!x || !y || size_a != size_b || memcmp(x, y, size_a) != 0)
            fail_msg("%s of %s and %s differ", names[i], a, b);
        free(x);
        free(y);
    }
}

static const char options[] = "erf model --text text --length 64 --segments 400 --stride 64 "
                              "--dtype f64 --bootstrap 10 --attention --quiet -o %s %s";
enum { RECORD_BYTES = 24 + 8 * 63 + 8 };

/* At the first records, and at the attention behind the last ones: the run stops, and goes on to
 * the right bytes when the model is back. */
static void a_run_keeps_nothing_of_another_model(void **state)
{
    static const struct {
        const char *file, *folder;
        size_t records;
    } cases[] = {{weights, "early", 40},
                 {weights, "late", 400},
                 {"model/config.json", "config", 40}};
    char line[512], file[4200], part[4200];

    (void)state;
    snprintf(line, sizeof line, options, "whole", "");
    succeed("%s", line);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(file, sizeof file, "%s", at("%s", cases[i].file));
        snprintf(part, sizeof part, "%s", at("%s/erf.part", cases[i].folder));
        snprintf(line, sizeof line, options, cases[i].folder, "");
        pid_t child = begin(line, part, cases[i].records * RECORD_BYTES);
        overwrite(file, at("other%s", cases[i].file + 5));
        assert_stopped(finish(child), cases[i].file);
        assert_true(exists(part));
        assert_false(exists(at("%s/erf.h5", cases[i].folder)));
        snprintf(line, sizeof line, options, cases[i].folder, "--resume");
        expect(line, 1, "digest is");
        overwrite(file, at("same%s", cases[i].file + 5));
        succeed("%s", line);
        assert_same("whole", cases[i].folder);
    }
}

/* Another model renamed over the file leaves the run with the one that it began with. */
static void a_new_file_in_its_place_does_no_harm(void **state)
{
    char line[512];
    pid_t child;
    struct outcome o;

    (void)state;
    snprintf(line, sizeof line, options, "renamed", "");
    child = begin(line, at("renamed/erf.part"), 40 * RECORD_BYTES);
    assert_int_equal(rename(at("spare/model.safetensors"), at("%s", weights)), 0);
    o = finish(child);
    if (o.status != 0)
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_same("whole", "renamed");
    overwrite(at("%s", weights), at("same/model.safetensors"));
}

static void other_verbs_stop_too(void **state)
{
    pid_t child = begin("ppl model --text text --context 48,64 --protocol sliding --stride 1 "
                        "--dtype f64 --quiet -o ppl",
                        NULL, 0);

    (void)state;
    overwrite(at("%s", weights), at("other/model.safetensors"));
    assert_stopped(finish(child), weights);
    assert_false(exists(at("ppl")));
    overwrite(at("%s", weights), at("same/model.safetensors"));
    child = begin("ppl model --text text --protocol cached --window 4 --dtype f64 --quiet -o ppl",
                  NULL, 0);
    overwrite(at("%s", weights), at("other/model.safetensors"));
    assert_stopped(finish(child), weights);
    overwrite(at("%s", weights), at("same/model.safetensors"));
}

/* The results are of the right model, and the precision of the wrong one: no figures are printed.
 */
static void the_check_of_precision_stops(void **state)
{
    const char *line = "erf model --text text --length 64 --segments 400 --stride 64 --bootstrap "
                       "10 --quiet --format svg "
                       "--check-precision 400 -o precise";
    struct outcome o;
    pid_t child = begin(line, at("precise/erf.h5"), 1);

    (void)state;
    overwrite(at("%s", weights), at("other/model.safetensors"));
    o = finish(child);
    overwrite(at("%s", weights), at("same/model.safetensors"));
    if (o.status != 1 || !strstr(o.err, weights) || strstr(o.out, "largest deviations"))
        fail_msg("exit %d: %s%s", o.status, o.err, o.out);
    outcome_free(&o);
}

static int make_inputs(void **state)
{
    (void)state;
    if (program_open() != 0)
        return -1;
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"model", "same", "other", "spare"};

        if (tiny_checkpoint(at("%s", names[i]),
                            &(struct tiny){.seed = i < 2 ? 1 : 2,
                                           .settings = i < 2 ? "\"window\": 5,"
                                                             : "\"window\": 6,"}) != 0)
            return -1;
    }
    return tiny_text(at("text"), 40000, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_keeps_nothing_of_another_model),
        cmocka_unit_test(a_new_file_in_its_place_does_no_harm),
        cmocka_unit_test(other_verbs_stop_too),
        cmocka_unit_test(the_check_of_precision_stops),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}

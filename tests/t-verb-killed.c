/* Killed at every renaming and removing of a file: a folder of results is never of two runs, and a
 * run goes on to the same bytes. A run is stopped before each such call, and what its folder holds
 * then is what a kill there leaves; where a state is new, the next run starts from it. */
#include "tests/program.h"
#include "tests/tiny.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct visit {
    void (*each)(void *);
    void *of;
};

/* Never to be held: visits where the run is about to rename or remove a file. */
static int visit_call(const struct system_call *c, void *of)
{
    static const long calls[] = {
#ifdef SYS_rename
        SYS_rename,
#endif
#ifdef SYS_renameat
        SYS_renameat,
#endif
#ifdef SYS_unlink
        SYS_unlink,
#endif
        SYS_renameat2, SYS_unlinkat};
    const struct visit *v = of;

    for (size_t i = 0; i < sizeof calls / sizeof *calls && !c->made; i++)
        if (c->number == calls[i])
            v->each(v->of);
    return 0;
}

/* Runs `reach LINE`, which must succeed, and calls each(of) where it is about to rename or remove a
 * file and once after its end. */
static void stop_at_each(const char *line, void (*each)(void *), void *of)
{
    struct outcome o = finish(
        start_held(line, at("bin:/usr/bin:/bin"), visit_call, &(struct visit){each, of}));

    if (o.status != 0)
        fail_msg("reach %s\nstatus %d: %s", line, o.status, o.err);
    outcome_free(&o);
    each(of);
}

static void run(const char *line)
{
    struct outcome o = finish(start(line, at("bin:/usr/bin:/bin")));

    if (o.status != 0)
        fail_msg("reach %s\nexit %d: %s", line, o.status, o.err);
    outcome_free(&o);
}

/* 1 or 2: the run that a file is of, by the text in the command that it records. */
static int run_of(const char *path)
{
    size_t size;
    char *bytes = slurp(path, &size);
    int first = memmem(bytes, size, "first-text", 10) != NULL,
        second = memmem(bytes, size, "second-text", 11) != NULL;

    free(bytes);
    if (first == second)
        fail_msg("%s is of %s", path, first ? "both runs" : "no run");
    return first ? 1 : 2;
}

/* Files with a name of their own in the folder, and whether they are of the first run, the second,
 * or (3) both. */
static int count_files(const char *folder, int *runs)
{
    DIR *d = opendir(at("%s", folder));
    int count = 0;

    *runs = 0;
    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d));)
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, "erf.part", 8) != 0) {
            *runs |= run_of(at("%s/%s", folder, entry->d_name));
            count++;
        }
    closedir(d);
    return count;
}

static void copy_folder(const char *to, const char *from)
{
    char command[9000];

    snprintf(command, sizeof command, "rm -rf '%s/%s' && cp -r '%s/%s' '%s/%s'", base, to, base,
             from, base, to);
    assert_int_equal(system(command), 0);
}

static void assert_same_folder(const char *a, const char *b)
{
    char command[9000];

    snprintf(command, sizeof command, "cd '%s' && diff -r '%s' '%s' >&2", base, a, b);
    if (system(command) != 0)
        fail_msg("%s and %s differ", a, b);
}

struct verb {
    const char *name, *line; /* text, folder, more options */
    const char *result; /* the file that makes the others a result */
    const char *again; /* the option with which it goes on after a kill that left a journal; else it
                          is --force */
};

struct stops {
    const struct verb *verb;
    const char *place, *second; /* where the run writes; the folder of a whole run of the same */
    int count, state; /* stops so far; the last's: of which runs its files are, and whether beside a
                         journal */
};

/* What a kill here leaves, and what the next run makes of it where that is new: the first point
 * with the old files, with none and with new ones, beside a journal or not. */
static void check_stop(void *of)
{
    struct stops *s = of;
    const struct verb *v = s->verb;
    char line[512], killed[32];
    int runs, state;

    snprintf(killed, sizeof killed, "%s-killed", v->name);
    copy_folder(killed, s->place);
    s->count++;
    count_files(killed, &runs);
    if (runs == 3)
        fail_msg("%s killed at point %d leaves files of two runs", v->name, s->count);
    state = 2 * runs + exists(at("%s/erf.part", killed));
    if (state == s->state)
        return;
    s->state = state;
    if (state & 1) {
        snprintf(line, sizeof line, "plot %s -o drawn", killed);
        expect(line, 1, "holds an unfinished run");
        snprintf(line, sizeof line, "plot %s/summary.csv -o drawn", killed);
        if (exists(at("%s/summary.csv", killed)))
            expect(line, 1, "holds an unfinished run");
        snprintf(line, sizeof line, "fit %s/curve.csv --form a+b*t", killed);
        if (exists(at("%s/curve.csv", killed)))
            expect(line, 1, "holds an unfinished run");
    }
    snprintf(line, sizeof line, v->line, "second", killed, state & 1 ? v->again : "--force");
    run(line);
    assert_same_folder(killed, s->second);
}

static void kill_everywhere(const struct verb *v)
{
    char line[512], first[32], second[32], place[32];
    struct stops s = {v, place, second, 0, -1};
    int runs;

    snprintf(first, sizeof first, "%s-first", v->name);
    snprintf(second, sizeof second, "%s-second", v->name);
    snprintf(place, sizeof place, "%s-place", v->name);
    snprintf(line, sizeof line, v->line, "first", first, "");
    run(line);
    snprintf(line, sizeof line, v->line, "second", second, "");
    run(line);
    assert_true(count_files(first, &runs) >= 3);
    assert_int_equal(runs, 1);
    copy_folder(place, first);
    snprintf(line, sizeof line, v->line, "second", place, "--force");
    stop_at_each(line, check_stop, &s);
    assert_true(s.count > 5 && exists(at("%s/%s", place, v->result)));
    assert_same_folder(place, second);
}

static const struct verb verbs[] = {
    {"erf",
     "erf model --text %s-text --length 32 --segments 3 --bootstrap 9 --quiet --format svg "
     "--attention --layer all "
     "--target-position 16 -o %s %s",
     "erf.h5", "--resume"},
    {"merge", "merge %s-1 %1$s-2 --format svg --quiet -o %s %s", "erf.h5", "--force"},
    {"ppl", "ppl model --text %s-text --context 8,16 --segments 3 --quiet --format svg -o %s %s",
     "ppl.csv", "--force"},
};

static void results_of_erf(void **state)
{
    (void)state;
    kill_everywhere(&verbs[0]);
}

static void results_of_merge(void **state)
{
    char line[512];

    (void)state;
    for (int text = 0; text < 2; text++)
        for (int i = 1; i <= 2; i++) {
            const char *name = text ? "second" : "first";

            snprintf(line, sizeof line,
                     "erf model --text %s-text --length 32 --segments 4 --bootstrap 9 --quiet "
                     "--format svg --shard %d/2 -o %s-%d",
                     name, i, name, i);
            run(line);
        }
    kill_everywhere(&verbs[1]);
}

static void results_of_ppl(void **state)
{
    (void)state;
    kill_everywhere(&verbs[2]);
}

static int same_file(const char *a, const char *b)
{
    size_t size_a, size_b;
    char *x = slurp(a, &size_a), *y = slurp(b, &size_b);
    int same = x && y && size_a == size_b && memcmp(x, y, size_a) == 0;

    free(x);
    free(y);
    return same;
}

static const char *const converted[] = {"first-model", "second-model"};

/* Weights never lie beside the configuration of another model. */
static void check_converted(void *count)
{
    int of[2][2];

    ++*(int *)count;
    for (int i = 0; i < 2; i++) {
        of[i][0] = same_file(at("place/model.safetensors"),
                             at("converted-%s/model.safetensors", converted[i]));
        of[i][1] = same_file(at("place/config.json"), at("converted-%s/config.json", converted[i]));
    }
    if ((of[0][0] && of[1][1]) || (of[1][0] && of[0][1]))
        fail_msg("killed at point %d it leaves the weights of one model and the configuration of "
                 "another",
                 *(int *)count);
}

static void converted_models(void **state)
{
    int count = 0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        char line[256];

        assert_int_equal(tiny_checkpoint(at("%s", converted[i]),
                                         &(struct tiny){.seed = (uint64_t)i + 1,
                                                        .settings = i ? "\"window\": 5,"
                                                                      : "\"window\": 6,"}),
                         0);
        snprintf(line, sizeof line, "convert %s converted-%s", converted[i], converted[i]);
        run(line);
    }
    copy_folder("place", "converted-first-model");
    stop_at_each("convert second-model place --force", check_converted, &count);
    assert_true(
        count > 4 &&
        same_file(at("place/model.safetensors"), at("converted-second-model/model.safetensors")) &&
        same_file(at("place/config.json"), at("converted-second-model/config.json")));
    /* an index would be read first */
    fclose(fopen(at("place/model.safetensors.index.json"), "w"));
    expect("convert first-model place --force", 1,
           "model.safetensors.index.json: would be read instead");
}

/* Other options leave fewer files: none of the run before are left beside them, and nothing of a
 * killed one. */
static void nothing_stale_is_left(void **state)
{
    int runs;

    (void)state;
    copy_folder("stale", "erf-first");
    for (int i = 0; i < 3; i++) {
        int descriptor = open(at("stale/%s", i == 0   ? ".erf.h5.tmp-1"
                                             : i == 1 ? ".erf.svg.tmp-22"
                                                      : ".mine.tmp-1"),
                              O_WRONLY | O_CREAT, 0666);

        assert_true(descriptor >= 0);
        close(descriptor);
    }
    run("erf model --text second-text --length 32 --segments 3 --bootstrap 9 --quiet --format png "
        "-o stale --force");
    assert_int_equal(count_files("stale", &runs), 5);
    assert_int_equal(runs, 2);
    assert_false(exists(at("stale/.erf.h5.tmp-1")) || exists(at("stale/.erf.svg.tmp-22")) ||
                 exists(at("stale/erf.svg")));
    assert_true(exists(at("stale/.mine.tmp-1")));
}

static int make_inputs(void **state)
{
    FILE *f;

    (void)state;
    if (program_open() != 0 || tiny_checkpoint(at("model"), &(struct tiny){.seed = 1}) != 0 ||
        tiny_text(at("first-text"), 5000, 7) != 0 || tiny_text(at("second-text"), 5000, 8) != 0 ||
        mkdir(at("bin"), 0777) != 0)
        return -1;
    f = fopen(at("bin/gnuplot"), "w"); /* quick, and its pictures say what they are of */
    if (!f)
        return -1;
    fputs("#!/bin/sh\neval \"$3\"\nend='</svg>'\n[ $format = png ] && end=IEND\n{ grep command: "
          "\"$4\"; echo \"$end\"; } > "
          "\"$output\"\n",
          f);
    return fclose(f) != 0 || chmod(at("bin/gnuplot"), 0777) != 0 ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_erf),        cmocka_unit_test(results_of_merge),
        cmocka_unit_test(results_of_ppl),        cmocka_unit_test(converted_models),
        cmocka_unit_test(nothing_stale_is_left),
    };

    setenv("ASAN_OPTIONS", "detect_leaks=0",
           1); /* the search for leaks does not work in a process that is watched */
    return cmocka_run_group_tests(tests, make_inputs, program_close);
}

/* reach-mpi under mpirun: the files of one run for any number of ranks, and what is left when a
 * rank dies or is another's. Skipped where reach-mpi was not built, or mpirun cannot start two
 * processes. */
#include "tests/program.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *alone, *several, *mpi; /* $REACH, the script that calls mpirun, and reach-mpi beside
                                       the program that was built */
static char why[256]; /* the tests are skipped */

static int write_script(const char *path, const char *format, const char *value)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    fprintf(f, format, value);
    return fclose(f) == 0 ? chmod(path, 0700) : -1;
}

/* Starts LINE, the arguments of mpirun or, `ranks` 0, of reach, without pictures. */
static pid_t start_as(int ranks, const char *line)
{
    setenv("REACH", ranks ? several : alone, 1);
    return start(line, ranks ? NULL : "/nonexistent");
}

static void run_alone(const char *line)
{
    struct outcome o = finish(start_as(0, line));

    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
}

/* Runs the words of `erf` on so many ranks, which must succeed. */
static void run_ranks(int ranks, const char *words)
{
    char line[1024];
    struct outcome o;

    snprintf(line, sizeof line, "-n %d ./rank %s", ranks, words);
    o = finish(start_as(ranks, line));
    if (o.status != 0)
        fail_msg("mpirun %s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
}

static void assert_same_folder(const char *a, const char *b)
{
    static const char *const files[] = {"erf.h5",        "curve.csv",     "summary.csv",
                                        "erf.gp",        "layers.gp",     "targets.gp",
                                        "attention.csv", "validation.csv"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size_a = 0, size_b = 0;
        char path[64], *text_a, *text_b;

        snprintf(path, sizeof path, "%s/%s", a, files[i]);
        text_a = slurp(path, &size_a);
        snprintf(path, sizeof path, "%s/%s", b, files[i]);
        text_b = slurp(path, &size_b);
        if (!text_a != !text_b || size_a != size_b ||
            (text_a && memcmp(text_a, text_b, size_a) != 0))
            fail_msg("%s of %s (%zu bytes) and %s (%zu bytes) differ", files[i], a, size_a, b,
                     size_b);
        free(text_a);
        free(text_b);
    }
}

static void any_number_gives_the_same_files(void **state)
{
    static const struct {
        int ranks;
        const char *words;
    } rows[] = {
        {1, "alibi window --text text --length 64 --segments 13 --bootstrap 20 --layer all "
            "--target-position 20,41"},
        {2, "alibi window --text text --length 64 --segments 13 --bootstrap 20 --layer all "
            "--target-position 20,41"},
        {3, "alibi window --text text --length 64 --segments 13 --bootstrap 20 --layer all "
            "--target-position 20,41"},
        {4, "alibi window --text text --length 64 --segments 13 --bootstrap 20 --layer all "
            "--target-position 20,41"},
        {2, "alibi --text text --length 40 --segments 7 --bootstrap 20 --attribution ig "
            "--attention --dtype f64"},
        {3, "alibi --text text --length 40 --segments 2 --bootstrap 20 --attribution smoothgrad "
            "--seed 3"}, /* some get nothing */
        {2, "poor --text bytes --length 16 --segments 8 --stride 16 --bootstrap 20 --threshold "
            "0.5"}, /* two are excluded */
    };

    (void)state;
    if (*why)
        skip();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[512], one[32], many[32];

        snprintf(one, sizeof one, "one-%zu", i);
        snprintf(many, sizeof many, "many-%zu", i);
        snprintf(line, sizeof line, "erf %s --quiet -o %s", rows[i].words, one);
        run_alone(line);
        snprintf(line, sizeof line, "erf %s --quiet -o %s", rows[i].words, many);
        run_ranks(rows[i].ranks, line);
        assert_same_folder(one, many);
    }
}

/* A shard by several ranks and one by a single process are parts of one run. */
static void shards_by_ranks_are_merged(void **state)
{
    (void)state;
    if (*why)
        skip();
    run_alone("erf alibi --text text --length 64 --segments 9 --bootstrap 20 --quiet -o whole");
    run_ranks(2, "erf alibi --text text --length 64 --segments 9 --bootstrap 20 --quiet --shard "
                 "1/2 -o shard-1");
    run_alone("erf alibi --text text --length 64 --segments 9 --bootstrap 20 --quiet --shard 2/2 "
              "-o shard-2");
    run_alone("merge shard-1 shard-2 -o merged --quiet");
    assert_same_folder("whole", "merged");
}

static long number_in(const char *path)
{
    size_t size;
    char *text = slurp(path, &size);
    long number = text ? strtol(text, NULL, 10) : 0;

    free(text);
    return number;
}

/* Starts a long run of three ranks, and kills rank `dying` once some segments are kept: 1; 0 if the
 * run was quicker. */
static int kill_rank(int dying, const char *line, const char *folder)
{
    enum { LOOKS = 400000 };
    const struct timespec pause = {0, 200000};
    char name[32], words[512];
    siginfo_t ended = {0};
    struct outcome o;
    pid_t child;

    snprintf(name, sizeof name, "pid-%d", dying);
    unlink(name);
    snprintf(words, sizeof words, "-n 3 ./rank %s", line);
    child = start_as(3, words);
    for (int k = 0;
         k < LOOKS && (journal_size(folder) < 10000 || number_in(name) <= 0) &&
         waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && !ended.si_pid;
         k++)
        nanosleep(&pause, NULL);
    if (!ended.si_pid && number_in(name) > 0)
        kill((pid_t)number_in(name), SIGKILL);
    o = finish(child);
    if (o.status != 0 && journal_size(folder) == 0)
        fail_msg("mpirun %s: exit %d, and nothing is kept: %s", words, o.status, o.err);
    outcome_free(&o);
    return journal_size(folder) > 0;
}

/* What was kept before a rank died is gone on with, by another number of ranks or by one process.
 */
static void a_rank_that_dies_ends_the_run(void **state)
{
    static const char words[] =
        "erf alibi --text text --length 64 --segments 4000 --stride 1 --bootstrap 5 --quiet -o";
    char line[256], folder[32];

    (void)state;
    if (*why)
        skip();
    snprintf(line, sizeof line, "%s undisturbed", words);
    run_alone(line);
    for (int dying = 0; dying < 2; dying++) {
        int killed = 0;

        snprintf(folder, sizeof folder, "killed-%d", dying);
        snprintf(line, sizeof line, "%s %s", words, folder);
        for (int i = 0; i < 30 && !killed; i++) {
            killed = kill_rank(dying, line, folder);
            if (!killed)
                scratch_remove(strdup(at("%s", folder)));
        }
        assert_true(killed);
        assert_false(exists(at("%s/erf.h5", folder)));
        strcat(line, " --resume");
        if (dying)
            run_ranks(2, line);
        else
            run_alone(line);
        assert_same_folder("undisturbed", folder);
    }
}

/* Two ranks with different words: rank 0 says what is wrong, in one line of reach's. */
static void expect_of_two(const char *first, const char *second, int status, const char *said)
{
    char line[1024];
    struct outcome o;
    int told = 0;

    snprintf(line, sizeof line, "-n 1 ./rank %s : -n 1 ./rank %s", first, second);
    o = finish(start_as(2, line));
    for (const char *at = o.err; (at = strstr(at, "reach erf: ")); at++)
        told++;
    if (o.status != status || told != 1 || !strstr(o.err, said))
        fail_msg("mpirun %s: exit %d (expected %d), %d lines, without \"%s\": %s", line, o.status,
                 status, told, said, o.err);
    outcome_free(&o);
}

static void a_rank_of_another_run_is_refused(void **state)
{
    static const char run[] = "erf alibi --text text --length 64 --segments 4000 --stride 1 "
                              "--bootstrap 5 --quiet --force -o refused";
    char other[256];

    (void)state;
    if (*why)
        skip();
    snprintf(other, sizeof other, "%s --seed 5", run);
    expect_of_two(run, other, 1,
                  "rank 1 has \"seed=5\" where rank 0 has \"seed=0\" (expected the same files, "
                  "options and kind of");
    expect_of_two(run,
                  "erf window --text text --length 64 --segments 4000 --stride 1 --bootstrap 5 "
                  "--quiet -o refused",
                  1, "rank 1 has \"model 1 name=window\" where rank 0 has \"model 1 name=alibi\"");
    expect_of_two(run,
                  "erf nowhere --text text --length 64 --segments 4000 --stride 1 --bootstrap 5 "
                  "--quiet -o refused",
                  1, "rank 1: nowhere");
    expect_of_two("erf --nonsense", "erf --nonsense", 2, "--nonsense: unknown option");
    assert_false(exists(at("refused/erf.h5")));
}

/* On the stand-in for a machine with two GPUs. */
static void each_rank_takes_its_gpu(void **state)
{
    static const char words[] =
        "erf alibi --text text --length 40 --segments 6 --bootstrap 5 --quiet --device cuda -o";
    char line[256], plugin[4200];
    struct outcome o;

    (void)state;
    snprintf(plugin, sizeof plugin, "%s/tests/cuda-host.so", built);
    if (*why || access(plugin, F_OK) != 0)
        skip();
    setenv("REACH_CUDA", plugin, 1);
    snprintf(line, sizeof line, "%s gpu", words);
    run_alone(line);
    snprintf(line, sizeof line, "%s gpus", words);
    run_ranks(2, line);
    assert_same_folder("gpu", "gpus");
    snprintf(line, sizeof line, "-n 3 ./rank %s too-many", words);
    o = finish(start_as(3, line));
    if (o.status == 0 ||
        !strstr(o.err, "rank 2: --device cuda:2: there is no GPU with the number 2"))
        fail_msg("mpirun %s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
    unsetenv("REACH_CUDA");
}

/* mpirun, if it works: where it is missing, may not run, or finds no network at all, nothing here
 * can be tried. */
static int find_ranks(void)
{
    struct outcome o;

    if (access(at("rank"), X_OK) != 0)
        return -1;
    if (access(mpi, X_OK) != 0) {
        snprintf(why, sizeof why, "%.200s is not built", mpi);
        return 0;
    }
    o = finish(start_as(2, "-n 2 true"));
    if (o.status != 0)
        snprintf(why, sizeof why, "mpirun cannot start two processes: %.150s", o.err);
    outcome_free(&o);
    return 0;
}

static int make_inputs(void **state)
{
    unsigned char bytes[128 + 512];
    FILE *f;

    (void)state;
    if (program_open() != 0 || chdir(base) != 0 || !(mpi = malloc(strlen(built) + 16)))
        return -1;
    sprintf(mpi, "%s/reach-mpi", built);
    unsetenv("REACH_CUDA"); /* but for the test of GPUs */
    for (size_t i = 0; i < sizeof bytes; i++) /* as in t-verb-merge.c */
        bytes[i] = i == 36 || i == 90 ? 0 : (unsigned char)(1 + i * 7 % 200);
    f = fopen("bytes", "wb");
    if (!f || fwrite(bytes, 1, sizeof bytes, f) != sizeof bytes || fclose(f) != 0 ||
        tiny_checkpoint(at("alibi"), &(struct tiny){.layers = 2,
                                                    .settings = "\"position_bias\": \"alibi\",",
                                                    .seed = 3}) != 0 ||
        tiny_checkpoint(at("window"),
                        &(struct tiny){.layers = 3, .settings = "\"window\": 5,", .seed = 1}) !=
            0 ||
        tiny_checkpoint(at("poor"), &(struct tiny){.layers = 2,
                                                   .spoiled = "embedding.weight",
                                                   .untied = 1,
                                                   .seed = 6}) != 0 ||
        tiny_text(at("text"), 5000, 7) != 0)
        return -1;
    alone = strdup(getenv("REACH"));
    several = strdup(at("several"));
    if (write_script(at("rank"),
                     "#!/bin/sh\necho $$ >pid-$OMPI_COMM_WORLD_RANK\nREACH_CUDA_HOST_DEVICES=2 "
                     "OMP_NUM_THREADS=1 exec %s \"$@\"\n",
                     mpi) != 0 ||
        /* shared memory alone, without reading each other's, which containers forbid; as root, on
           fewer processors than ranks */
        write_script(at("several"),
                     "#!/bin/sh\nexec mpirun --allow-run-as-root --oversubscribe --bind-to none "
                     "--mca plm isolated --mca pml ob1 "
                     "--mca btl "
                     "self,vader --mca btl_vader_single_copy_mechanism none %s\n",
                     "\"$@\"") != 0)
        return -1;
    if (find_ranks() != 0)
        return -1;
    if (*why)
        fprintf(stderr, "several ranks are not tried: %s\n", why);
    return 0;
}

static int remove_inputs(void **state)
{
    setenv("REACH", alone, 1);
    free(alone);
    free(several);
    free(mpi);
    return chdir("/") == 0 ? program_close(state) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_gives_the_same_files),
        cmocka_unit_test(shards_by_ranks_are_merged),
        cmocka_unit_test(a_rank_that_dies_ends_the_run),
        cmocka_unit_test(a_rank_of_another_run_is_refused),
        cmocka_unit_test(each_rank_takes_its_gpu),
    };

    return cmocka_run_group_tests_name("reach-mpi", tests, make_inputs, remove_inputs);
}

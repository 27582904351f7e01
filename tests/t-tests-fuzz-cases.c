/* The fuzz targets of tests/fuzz on valid inputs, which they must take, and on kept cases
 * (tests/fuzz/cases/TARGET): inputs that once went wrong.
 *
 *   t-tests-fuzz-cases TARGET FILE...     runs a target on these files
 *   t-tests-fuzz-cases --seeds FOLDER     writes the valid inputs as FOLDER/TARGET/NAME */
#include "tests/fuzz/fuzz.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct target {
    const char *name;
    size_t bytes;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {
#define TARGET(name, bytes) {#name, bytes, fuzz_##name},
#include "tests/fuzz/targets.h"
#undef TARGET
};
enum { TARGETS = sizeof targets / sizeof *targets };

static int run_file(const struct target *t, const char *path, size_t *size)
{
    unsigned char *data = scratch_read(path, size), *exact = malloc(*size ? *size : 1);
    if (!exact)
        abort();
    memcpy(exact, data,
           *size); /* no byte behind it, so that AddressSanitizer sees reads beyond the end */
    free(data);
    int accepted = t->run(exact, *size);
    free(exact);
    return accepted;
}

/* Runs a target on every file of FOLDER/TARGET and returns how many there are; with `check` those
 * not named refused-* must be accepted. */
static size_t run_folder(const struct target *t, const char *folder, int check)
{
    char pattern[8192];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/*", folder, t->name);
    if (glob(pattern, 0, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t size;
        int accepted = run_file(t, found.gl_pathv[i], &size);
        if (!check)
            continue;
        if (!accepted != !!strstr(found.gl_pathv[i], "/refused-") || size > t->bytes)
            fail_msg("%s: %s of %zu bytes is %s", t->name, found.gl_pathv[i], size,
                     accepted ? "accepted" : "refused");
    }
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

static void test_seeds(void **state)
{
    (void)state;
    struct error e = {""};
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/seeds", scratch_folder);
    if (fuzz_seeds(folder, &e))
        fail_msg("%s", e.text);
    for (size_t i = 0; i < TARGETS; i++)
        if (run_folder(&targets[i], folder, 1) == 0)
            fail_msg("%s has no seeds", targets[i].name);
}

static void test_cases(void **state)
{
    (void)state;
    size_t count = 0;
    for (size_t i = 0; i < TARGETS; i++)
        count += run_folder(&targets[i], "tests/fuzz/cases", 0);
    assert_true(count > 0);
}

static int replay(const char *name, char **files, int count)
{
    for (size_t i = 0; i < TARGETS; i++) {
        if (strcmp(targets[i].name, name))
            continue;
        for (int k = 0; k < count; k++) {
            size_t size;
            int accepted = run_file(&targets[i], files[k], &size);
            printf("%s: %zu bytes, %s\n", files[k], size, accepted ? "accepted" : "refused");
        }
        return 0;
    }
    fprintf(stderr, "%s is not a target of tests/fuzz/targets.h\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds), cmocka_unit_test(test_cases)};
    struct error e = {""};
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        if (fuzz_seeds(argv[2], &e) == 0)
            return 0;
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    if (argc > 2)
        return replay(argv[1], argv + 2, argc - 2);
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

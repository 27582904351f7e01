/* Files that are written to while they are used: found out, whatever becomes of their times and
 * names. */
#include "io/checkpoint/checkpoint.h"
#include "io/system/file.h"
#include "io/system/input.h"
#include "io/system/watch.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Overwrites a byte in place, and sets the time of the last write back when asked to. */
static void overwrite(const char *path, off_t offset, int set_back)
{
    struct stat st;
    int descriptor = open(path, O_WRONLY);
    assert_true(descriptor >= 0);
    assert_int_equal(fstat(descriptor, &st), 0);
    assert_int_equal(pwrite(descriptor, "!", 1, offset), 1);
    if (set_back)
        assert_int_equal(futimens(descriptor, (struct timespec[]){st.st_atim, st.st_mtim}), 0);
    close(descriptor);
}

static void test_changes(void **state)
{
    (void)state;
    enum { IN_PLACE, SET_BACK, LONGER, SHORTER, TOUCHED, REPLACED, REMOVED, LINKED, READ, CASES };
    for (int i = 0; i < CASES; i++) {
        struct error e = {""};
        struct watch w = {0};
        size_t size;
        char path[4096], other[4096], byte;
        snprintf(path, sizeof path, "%s", scratch_write(scratch_folder, "watched", "the bytes", 9));
        snprintf(other, sizeof other, "%s", scratch_write(scratch_folder, "other", "new bytes", 9));
        int descriptor = watch_open(&w, path, &size, &e);
        assert_true(descriptor >= 0);
        assert_int_equal(size, 9);
        assert_int_equal(watch_settle(&w, &e), 0);
        /* at once: nothing may hide in a tick of the clock */
        switch (i) {
        case IN_PLACE: overwrite(path, 3, 0); break;
        case SET_BACK: overwrite(path, 3, 1); break;
        case LONGER: overwrite(path, 9, 1); break;
        case SHORTER: assert_int_equal(truncate(path, 8), 0); break;
        case TOUCHED: assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0); break;
        case REPLACED: assert_int_equal(rename(other, path), 0); break;
        case REMOVED: assert_int_equal(unlink(path), 0); break;
        case LINKED:
            unlink(other);
            assert_int_equal(link(path, other), 0);
            break;
        case READ: assert_int_equal(pread(descriptor, &byte, 1, 0), 1); break;
        default: break;
        }
        int changed = watch_check(&w, &e) != 0;
        if (changed != (i <= TOUCHED))
            fail_msg("case %d: %s", i, changed ? e.text : "no change is seen");
        if (changed)
            assert_int_equal(check_message("change", &e,
                                           "watched: was changed while it was in use"),
                             0);
        else
            assert_int_equal(watch_check(&w, &e), 0);
        /* a file with another name or none is watched as before */
        if (i == REMOVED || i == LINKED) {
            assert_int_equal(i == LINKED ? truncate(other, 3) : 0, 0);
            assert_int_equal(watch_check(&w, &e), i == LINKED ? -1 : 0);
        }
        watch_close(&w);
        unlink(path);
        unlink(other);
    }
}

/* A text that is appended to while it is read. */
static void test_stream(void **state)
{
    (void)state;
    enum { BYTES = 300000 };
    struct error e = {""};
    char *text = calloc(BYTES, 1), *out = malloc(BYTES + 1);
    size_t got;
    for (int change = 0; change < 2; change++) {
        const char *path = scratch_write(scratch_folder, "text", text, BYTES);
        struct input *in = input_open(path, &e);
        assert_non_null(in);
        assert_int_equal(input_read(in, out, 1000, &got, &e), 0);
        if (change)
            overwrite(path, BYTES - 1, 1);
        assert_int_equal(input_read(in, out, BYTES + 1, &got, &e), change ? -1 : 0);
        if (change)
            assert_int_equal(check_message("text", &e, "text: was changed"), 0);
        input_close(in);
    }
    free(text);
    free(out);
}

/* All files of a checkpoint: nothing is written, and no digest given, of one that changed. */
static void test_checkpoint(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json", "model.safetensors", NULL};
    char folder[4096], out[2][4200], digest[33];
    snprintf(out[0], sizeof out[0], "%s/out.safetensors", scratch_folder);
    snprintf(out[1], sizeof out[1], "%s/out.h5", scratch_folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct error e = {""};
        struct checkpoint c;
        snprintf(folder, sizeof folder, "%s/model-%zu", scratch_folder, i);
        assert_int_equal(tiny_checkpoint(folder, &(struct tiny){.seed = 1}), 0);
        assert_int_equal(checkpoint_open(&c, folder, &e), 0);
        assert_int_equal(tensors_digest(c.tensors, digest, &e), 0);
        if (names[i])
            overwrite(scratch_path(folder, names[i]), names[i][0] == 'c' ? 5 : 4000, 1);
        assert_int_equal(tensors_unchanged(c.tensors, &e), names[i] ? -1 : 0);
        assert_int_equal(tensors_digest(c.tensors, digest, &e), names[i] ? -1 : 0);
        for (int k = 0; k < 2; k++) {
            int before = scratch_count(scratch_folder);
            assert_int_equal(checkpoint_write(&c, out[k], 1, &e), names[i] ? -1 : 0);
            if (names[i]) {
                assert_int_equal(check_message("write", &e, names[i]), 0);
                assert_int_equal(scratch_count(scratch_folder), before);
            }
        }
        checkpoint_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_stream),
                                       cmocka_unit_test(test_checkpoint)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

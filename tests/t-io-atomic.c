/* Files are there whole or not at all; folders and their lock. */
#include "io/system/atomic.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_content(const char *path, const char *want)
{
    size_t size;
    unsigned char *data = scratch_read(path, &size);
    assert_int_equal(size, strlen(want));
    assert_memory_equal(data, want, size);
    free(data);
}

static void test_commit(void **state)
{
    (void)state;
    struct error e = {""};
    struct atomic_file f;
    const char *path = scratch_path(scratch_folder, "x.csv");
    assert_int_equal(atomic_open(&f, path, &e), 0);
    fputs("one\n", f.stream);
    assert_int_equal(access(path, F_OK), -1); /* not there before the commit */
    assert_int_equal(scratch_count(scratch_folder), 1);
    assert_int_equal(atomic_commit(&f, &e), 0);
    atomic_abandon(&f); /* no-op */
    assert_content(path, "one\n");
    assert_int_equal(scratch_count(scratch_folder), 1);

    assert_int_equal(atomic_open(&f, path, &e), 0);
    fputs("two\n", f.stream);
    fflush(f.stream);
    assert_content(path, "one\n");
    atomic_abandon(&f);
    atomic_abandon(&f);
    assert_content(path, "one\n");
    assert_int_equal(atomic_open(&f, path, &e), 0);
    fputs("three\n", f.stream);
    assert_int_equal(atomic_commit(&f, &e), 0);
    assert_content(path, "three\n");
    assert_int_equal(scratch_count(scratch_folder), 1);
    assert_int_equal(unlink(path), 0);
    assert_string_equal(e.text, "");
}

static void test_relative_path(void **state)
{
    (void)state;
    struct error e = {""};
    struct atomic_file f;
    int home = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(scratch_folder), 0);
    int result = atomic_open(&f, "plain", &e);
    if (result == 0)
        result = atomic_commit(&f, &e);
    assert_int_equal(fchdir(home), 0);
    close(home);
    assert_int_equal(result, 0);
    assert_content(scratch_path(scratch_folder, "plain"), "");
    assert_int_equal(unlink(scratch_path(scratch_folder, "plain")), 0);
}

/* The disk is full: at the first flush, in the middle, or at the very end. */
static void test_full_disk(void **state)
{
    (void)state;
    const size_t limits[] = {0, 1, 4096, 99999};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct error e = {""};
        struct atomic_file f;
        const char *path = scratch_write(scratch_folder, "kept", "before", 6);
        assert_int_equal(atomic_open(&f, path, &e), 0);
        scratch_limit(limits[i]);
        for (int k = 0; k < 100000; k++)
            putc('x', f.stream);
        int result = atomic_commit(&f, &e);
        scratch_unlimit();
        assert_int_equal(result, -1);
        assert_int_equal(check_message("full disk", &e, "kept: cannot be written: File too large"),
                         0);
        assert_content(path, "before");
        assert_int_equal(scratch_count(scratch_folder), 1);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_refused_places(void **state)
{
    (void)state;
    struct error e = {""};
    struct atomic_file f;
    scratch_write(scratch_folder, "file", "", 0);
    assert_int_equal(mkdir(scratch_path(scratch_folder, "folder"), 0777), 0);
    assert_int_equal(atomic_open(&f, scratch_path(scratch_folder, "file/x"), &e), -1);
    assert_int_equal(check_message("below a file", &e,
                                   "file/x: cannot be written: Not a directory"),
                     0);
    assert_int_equal(atomic_open(&f, scratch_path(scratch_folder, "absent/x"), &e), -1);
    assert_int_equal(check_message("absent folder", &e,
                                   "absent/x: cannot be written: No such file"),
                     0);
    assert_int_equal(atomic_open(&f, scratch_path(scratch_folder, "folder"), &e), -1);
    assert_int_equal(check_message("a folder", &e, "folder: exists and is not a file"), 0);
    assert_int_equal(atomic_open(&f, "/dev/full", &e), -1);
    assert_int_equal(check_message("a device", &e, "/dev/full: exists and is not a file"), 0);
    atomic_abandon(&f);
    /* a link under the temporary name, placed there by somebody else, is not written through */
    char name[64];
    snprintf(name, sizeof name, ".y.tmp-%ld", (long)getpid());
    assert_int_equal(symlink(scratch_path(scratch_folder, "file"),
                             scratch_path(scratch_folder, name)),
                     0);
    assert_int_equal(atomic_open(&f, scratch_path(scratch_folder, "y"), &e), 0);
    fputs("y", f.stream);
    assert_int_equal(atomic_commit(&f, &e), 0);
    assert_content(scratch_path(scratch_folder, "file"), "");
    assert_content(scratch_path(scratch_folder, "y"), "y");
    if (geteuid() != 0) {
        assert_int_equal(chmod(scratch_path(scratch_folder, "folder"), 0555), 0);
        assert_int_equal(atomic_open(&f, scratch_path(scratch_folder, "folder/x"), &e), -1);
        assert_int_equal(check_message("read-only folder", &e, "Permission denied"), 0);
    }
    unlink(scratch_path(scratch_folder, "y"));
    unlink(scratch_path(scratch_folder, "file"));
    rmdir(scratch_path(scratch_folder, "folder"));
}

static void test_named(void **state)
{
    (void)state;
    struct error e = {""};
    const char *path = scratch_path(scratch_folder, "n.png");
    char *temporary = atomic_temporary_name(path, &e);
    assert_non_null(temporary);
    scratch_write(scratch_folder, strrchr(temporary, '/') + 1, "data", 4);
    assert_int_equal(atomic_rename(temporary, path, &e), 0);
    free(temporary);
    assert_content(path, "data");
    assert_non_null(temporary = atomic_temporary_name(path, &e));
    assert_int_equal(atomic_rename(temporary, path, &e), -1); /* nobody wrote it */
    assert_int_equal(check_message("not written", &e, "n.png: cannot be written"), 0);
    free(temporary);
    assert_non_null(temporary = atomic_temporary_name(path, &e));
    scratch_write(scratch_folder, strrchr(temporary, '/') + 1, "x", 1);
    atomic_discard(temporary);
    free(temporary);
    assert_content(path, "data");
    assert_int_equal(scratch_count(scratch_folder), 1);
    assert_int_equal(unlink(path), 0);
}

static void remove_and_leave(int signal_number)
{
    (void)signal_number;
    atomic_remove_all();
    _exit(7);
}

static void test_signal(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct atomic_file a, b, done;
        signal(SIGTERM, remove_and_leave);
        if (atomic_open(&a, scratch_path(scratch_folder, "a"), NULL) ||
            atomic_open(&b, scratch_path(scratch_folder, "b"), NULL) ||
            atomic_open(&done, scratch_path(scratch_folder, "done"), NULL) ||
            atomic_commit(&done, NULL) || scratch_count(scratch_folder) != 3)
            _exit(1);
        raise(SIGTERM);
        _exit(2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(scratch_count(scratch_folder), 1); /* what was committed stays */
    assert_int_equal(unlink(scratch_path(scratch_folder, "done")), 0);
}

/* What killed processes left of a file goes when it is written anew; what another process writes,
 * here or elsewhere, stays. */
static void test_abandoned(void **state)
{
    (void)state;
    struct error e = {""};
    struct atomic_file f;
    char names[6][64];
    int status;
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, &status, 0), gone);
    snprintf(names[0], sizeof *names, ".out.tmp-%ld", (long)gone);
    snprintf(names[1], sizeof *names, ".out.tmp-%ld", (long)getppid());
    snprintf(names[2], sizeof *names, ".other.tmp-%ld", (long)gone);
    snprintf(names[3], sizeof *names, ".out.tmp-%ldx", (long)gone);
    snprintf(names[4], sizeof *names, ".out.tmp-0%ld", (long)gone);
    snprintf(names[5], sizeof *names, ".out.tmp-");
    for (int i = 0; i < 6; i++)
        scratch_write(scratch_folder, names[i], "half", 4);
    int other = open(scratch_path(scratch_folder, names[0]), O_RDONLY | O_CLOEXEC);
    assert_true(other >= 0 && flock(other, LOCK_EX) == 0);
    for (int locked = 1; locked >= 0; locked--) {
        assert_int_equal(atomic_open(&f, scratch_path(scratch_folder, "out"), &e), 0);
        assert_int_equal(access(scratch_path(scratch_folder, names[0]), F_OK) == 0, locked);
        atomic_abandon(&f);
        close(other);
    }
    assert_int_equal(scratch_count(scratch_folder), 5);
    for (int i = 1; i < 6; i++)
        assert_int_equal(unlink(scratch_path(scratch_folder, names[i])), 0);
}

/* Slots are given back: many files one after the other, a bounded number at once. */
static void test_slots(void **state)
{
    (void)state;
    struct error e = {""};
    struct atomic_file f[40];
    int open_files = 0;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(atomic_open(&f[0], scratch_path(scratch_folder, "s"), &e), 0);
        atomic_abandon(&f[0]);
    }
    for (; open_files < 40; open_files++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", open_files);
        if (atomic_open(&f[open_files], scratch_path(scratch_folder, name), &e))
            break;
    }
    assert_int_equal(open_files, 32);
    assert_int_equal(check_message("slots", &e, "too many files"), 0);
    while (open_files > 0)
        atomic_abandon(&f[--open_files]);
    assert_int_equal(scratch_count(scratch_folder), 0);
}

static void test_folder_make(void **state)
{
    (void)state;
    struct error e = {""};
    assert_int_equal(folder_make(scratch_path(scratch_folder, "a/b//c/"), &e), 0);
    assert_int_equal(folder_make(scratch_path(scratch_folder, "a/b/c"), &e), 0);
    assert_int_equal(rmdir(scratch_path(scratch_folder, "a/b/c")), 0);
    scratch_write(scratch_folder, "a/file", "", 0);
    assert_int_equal(folder_make(scratch_path(scratch_folder, "a/file"), &e), -1);
    assert_int_equal(check_message("file", &e, "a/file: exists and is not a folder"), 0);
    assert_int_equal(folder_make(scratch_path(scratch_folder, "a/file/x"), &e), -1);
    assert_int_equal(check_message("below a file", &e, "a/file: exists and is not a folder"), 0);
    assert_int_equal(folder_make("", &e), -1);
    assert_int_equal(folder_make("/", &e), geteuid() ? -1 : 0);
    unlink(scratch_path(scratch_folder, "a/file"));
    rmdir(scratch_path(scratch_folder, "a/b"));
    rmdir(scratch_path(scratch_folder, "a"));
}

static void test_lock(void **state)
{
    (void)state;
    struct error e = {""};
    int lock = folder_lock(scratch_folder, &e);
    assert_true(lock >= 0);
    assert_int_equal(folder_lock(scratch_folder, &e), -1);
    assert_int_equal(check_message("locked", &e, "is in use by another run of reach"), 0);
    folder_unlock(lock, scratch_folder);
    assert_int_equal(scratch_count(scratch_folder), 0);
    scratch_write(scratch_folder, ".lock", "", 0); /* left by a killed run: no obstacle */
    assert_true((lock = folder_lock(scratch_folder, &e)) >= 0);
    /* somebody removed our file and a second run has its own: it stays */
    unlink(scratch_path(scratch_folder, ".lock"));
    int second = folder_lock(scratch_folder, &e);
    assert_true(second >= 0);
    folder_unlock(lock, scratch_folder);
    assert_int_equal(folder_lock(scratch_folder, &e), -1);
    folder_unlock(second, scratch_folder);
    folder_unlock(-1, scratch_folder);
    assert_int_equal(scratch_count(scratch_folder), 0);
    assert_int_equal(folder_lock(scratch_path(scratch_folder, "absent"), &e), -1);
    assert_int_equal(check_message("absent", &e, "absent: cannot be locked"), 0);
}

/* Four processes take turns; each leaves a mark while it holds the lock, and no other may find one.
 */
static void test_lock_race(void **state)
{
    (void)state;
    enum { CHILDREN = 4, TURNS = 150 };
    pid_t children[CHILDREN];
    for (int k = 0; k < CHILDREN; k++)
        if ((children[k] = fork()) == 0) {
            alarm(30);
            for (int turn = 0; turn < TURNS; turn++) {
                int lock;
                while ((lock = folder_lock(scratch_folder, NULL)) < 0)
                    sched_yield();
                int mark = open(scratch_path(scratch_folder, "mark"), O_CREAT | O_EXCL | O_WRONLY,
                                0666);
                if (mark < 0)
                    _exit(1);
                close(mark);
                sched_yield();
                unlink(scratch_path(scratch_folder, "mark"));
                folder_unlock(lock, scratch_folder);
            }
            _exit(0);
        }
    for (int k = 0; k < CHILDREN; k++) {
        int status;
        assert_int_equal(waitpid(children[k], &status, 0), children[k]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(scratch_count(scratch_folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit),      cmocka_unit_test(test_relative_path),
        cmocka_unit_test(test_full_disk),   cmocka_unit_test(test_refused_places),
        cmocka_unit_test(test_named),       cmocka_unit_test(test_signal),
        cmocka_unit_test(test_abandoned),   cmocka_unit_test(test_slots),
        cmocka_unit_test(test_folder_make), cmocka_unit_test(test_lock),
        cmocka_unit_test(test_lock_race),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

/* A mapped file that becomes shorter: one line that names it, and no crash. */
#include "commands/fault.h"
#include "io/system/atomic.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 16 };

/* What a process does whose file loses its bytes under it. */
static void lose_bytes(const char *path, const char *output)
{
    struct error e = {""};
    struct atomic_file unfinished = {0};
    int descriptor = open(path, O_RDWR);
    const volatile unsigned char *bytes = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, descriptor, 0);
    fault_watch();
    if (descriptor < 0 || bytes == MAP_FAILED || bytes[BYTES - 1] != 7 ||
        ftruncate(descriptor, 0) || atomic_open(&unfinished, output, &e))
        _exit(2);
    _exit(bytes[BYTES / 2]);
}

static void test_shorter(void **state)
{
    (void)state;
    static unsigned char data[BYTES];
    static const char *const names[][2] = {{"plain.bin", "plain.bin"},
                                           {"a name with  blanks.bin", "a name with  blanks.bin"},
                                           {"gr\xc3\xbc\xc3\x9f.bin", "gr\xc3\xbc\xc3\x9f.bin"},
                                           {"\033[31m\xc2\x9b\xe2\x80\xae",
                                            "\\x1B[31m\\u009B\\u202E"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096], said[8192] = "", expected[8192];
        int ends[2], status;
        size_t length = 0;
        memset(data, 7, sizeof data);
        snprintf(path, sizeof path, "%s",
                 scratch_write(scratch_folder, names[i][0], data, sizeof data));
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], STDERR_FILENO);
            lose_bytes(path, scratch_path(scratch_folder, "unfinished"));
        }
        close(ends[1]);
        for (ssize_t n; (n = read(ends[0], said + length, sizeof said - 1 - length)) > 0;)
            length += (size_t)n;
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        snprintf(expected, sizeof expected,
                 "reach: %s: cannot be read: the file became shorter while it was in use, or its "
                 "disk failed\n",
                 scratch_path(scratch_folder, names[i][1]));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 || strcmp(said, expected))
            fail_msg("status %#x, said '%s'\nexpected '%s'", (unsigned)status, said, expected);
        assert_int_equal(scratch_count(scratch_folder), i + 1); /* nothing unfinished is left */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shorter)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

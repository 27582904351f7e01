/* What control groups leave, on files as the kernel writes them. */
#include "io/system/memory_groups.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Writes TEXT to a file below the scratch folder, with the folders on its way. */
static void put(const char *path, const char *text)
{
    char folder[256];
    for (const char *at = path; (at = strchr(at, '/')); at++) {
        snprintf(folder, sizeof folder, "%.*s", (int)(at - path), path);
        mkdir(scratch_path(scratch_folder, folder), 0777);
    }
    scratch_write(scratch_folder, path, text, strlen(text));
}

/* A machine whose /proc says this. */
static size_t left(const char *cgroup, const char *mountinfo)
{
    put("proc/self/cgroup", cgroup);
    put("proc/self/mountinfo", mountinfo);
    return memory_of_groups(scratch_folder);
}

#define V1 "35 31 0:32 / /g/memory rw,relatime - cgroup cgroup rw,memory\n"
#define V2 "30 23 0:26 / /u rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define OTHERS \
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n32 31 0:29 / /g/cpu rw - cgroup cgroup rw,cpu\n"

static void test_first_version(void **state)
{
    (void)state;
    put("g/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("g/memory/memory.usage_in_bytes", "123456789\n");
    put("g/memory/jobs/memory.limit_in_bytes", "1000000\n");
    put("g/memory/jobs/memory.usage_in_bytes", "700000\n");
    put("g/memory/jobs/memory.stat", "cache 5\ntotal_cache 600000\ntotal_inactive_file 200000\n");
    put("g/memory/jobs/7/memory.limit_in_bytes", "800000\n");
    put("g/memory/jobs/7/memory.usage_in_bytes", "10000\n");
    /* the group above is nearer to its limit */
    assert_int_equal(left("4:memory:/jobs/7\n3:cpuset:/\n", OTHERS V1), 1000000 - 500000);
    put("g/memory/jobs/7/memory.usage_in_bytes", "790000\n");
    assert_int_equal(left("11:cpu,cpuacct:/\n4:hugetlb,memory:/jobs/7\n", OTHERS V1), 10000);
    put("g/memory/jobs/7/memory.usage_in_bytes", "900000\n");
    assert_int_equal(left("4:memory:/jobs/7\n", OTHERS V1), 0);
    assert_int_equal(left("4:memory:/\n", OTHERS V1), SIZE_MAX);
    assert_int_equal(left("4:memorystat:/jobs/7\n", OTHERS V1), SIZE_MAX);
}

static void test_second_version(void **state)
{
    (void)state;
    put("u/a/memory.max", "max\n");
    put("u/a/memory.current", "5000000\n");
    put("u/a/b/memory.max", "3000000\n");
    put("u/a/b/memory.high", "2500000\n");
    put("u/a/b/memory.current", "1500000\n");
    put("u/a/b/memory.stat", "anon 1200000\ninactive_file 250000\nactive_file 50000\n");
    assert_int_equal(left("0::/a/b\n", OTHERS V2), 2500000 - 1250000);
    put("u/a/memory.max", "5100000\n");
    assert_int_equal(left("0::/a/b\n", OTHERS V2), 100000);
    /* both versions at once, of which one holds */
    assert_int_equal(left("4:memory:/\n0::/a\n", OTHERS V1 V2), 100000);
    assert_int_equal(left("0::/elsewhere\n", OTHERS V2), SIZE_MAX);
}

/* A container: its own group is what is mounted, under the name that the machine gave it or as the
 * root. */
static void test_container(void **state)
{
    (void)state;
    put("c/memory.max", "4000000\n");
    put("c/memory.current", "1000000\n");
    put("c/in/memory.max", "900000\n");
    put("c/in/memory.current", "0\n");
    assert_int_equal(left("0::/docker/5f\n", "30 23 0:26 /docker/5f /c ro - cgroup2 cgroup rw\n"),
                     3000000);
    assert_int_equal(left("0::/docker/5f/in\n",
                          "30 23 0:26 /docker/5f /c ro - cgroup2 cgroup rw\n"),
                     900000);
    assert_int_equal(left("0::/docker/5fin\n", "30 23 0:26 /docker/5f /c ro - cgroup2 cgroup rw\n"),
                     3000000);
    assert_int_equal(left("0::/\n", "30 23 0:26 / /c ro - cgroup2 cgroup rw\n"), 3000000);
}

static void test_nothing_to_read(void **state)
{
    (void)state;
    assert_int_equal(memory_of_groups("/nowhere"), SIZE_MAX);
    assert_int_equal(left("", ""), SIZE_MAX);
    assert_int_equal(left("0:\n::\n0::/a\n",
                          "30 23 0:26\n - cgroup2\n30 23 0:26 / - cgroup2 cgroup rw\n"),
                     SIZE_MAX);
    put("u/d/memory.max", "many\n");
    put("u/d/memory.current", "1\n");
    assert_int_equal(left("0::/d\n", V2), SIZE_MAX);
    put("u/d/memory.max", "100\n");
    assert_int_equal(left("0::/d\n", V2), 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_version),
        cmocka_unit_test(test_second_version),
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_nothing_to_read),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

/* io/checkpoint/hub.c on caches as Hugging Face's tools lay them out, and on damaged ones; folders
 * that stand for a file. */
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/hub.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST "0123456789abcdef0123456789abcdef01234567"
#define SECOND "0123ffff89abcdef0123456789abcdef01234567"
#define BROKEN "bbbbffff89abcdef0123456789abcdef01234567"

static char *join(const char *format, ...) PRINTF_LIKE(1, 2);

/* Below the scratch folder; in a ring of buffers. */
static char *join(const char *format, ...)
{
    static char ring[4][4096];
    static int next;
    char *out = ring[next++ % 4];
    va_list arguments;
    int n = snprintf(out, 4096, "%s/", scratch_folder);
    va_start(arguments, format);
    vsnprintf(out + n, 4096 - (size_t)n, format, arguments);
    va_end(arguments);
    return out;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* models--ORG--NAME with two snapshots whose files are links into blobs, refs to the first and to a
 * pull request, and a snapshot that lost a blob. */
static int make_cache(void **state)
{
    static const char *const folders[] = {"hub",
                                          "hub/models--me--toy",
                                          "hub/models--me--toy/blobs",
                                          "hub/models--me--toy/refs",
                                          "hub/models--me--toy/refs/refs",
                                          "hub/models--me--toy/refs/refs/pr",
                                          "hub/models--me--toy/snapshots",
                                          "hub/models--me--toy/snapshots/" FIRST,
                                          "hub/models--me--toy/snapshots/" SECOND,
                                          "hub/models--me--toy/snapshots/" BROKEN,
                                          "hub/models--alone",
                                          "hub/models--alone/refs",
                                          "hub/models--alone/snapshots",
                                          "hub/models--alone/snapshots/" FIRST};
    if (scratch_setup(state))
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (mkdir(join("%s", folders[i]), 0700))
            return -1;
    put(join("hub/models--me--toy/blobs/config"), "{}");
    put(join("hub/models--me--toy/refs/main"), FIRST);
    put(join("hub/models--me--toy/refs/v1.0"), SECOND "\n");
    put(join("hub/models--me--toy/refs/refs/pr/1"), BROKEN);
    put(join("hub/models--alone/refs/main"), SECOND);
    return symlink("../../blobs/config",
                   join("hub/models--me--toy/snapshots/" FIRST "/config.json")) ||
           symlink("../../blobs/config",
                   join("hub/models--me--toy/snapshots/" SECOND "/config.json")) ||
           symlink("../../blobs/lost",
                   join("hub/models--me--toy/snapshots/" BROKEN "/model.safetensors"));
}

static void use(const char *variable, const char *value)
{
    static const char *const all[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME",
                                      "XDG_CACHE_HOME", "HOME"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        unsetenv(all[i]);
    if (variable)
        setenv(variable, value, 1);
}

static void found(const char *name, const char *hash)
{
    struct error e = {""};
    char *path = hub_find(name, &e), expected[4096];
    if (!path)
        fail_msg("%s: %s", name, e.text);
    snprintf(expected, sizeof expected, "hub/models--me--toy/snapshots/%s", hash);
    assert_string_equal(path, join("%s", expected));
    free(path);
}

static void refused(const char *name, const char *words)
{
    struct error e = {""};
    char *path = hub_find(name, &e);
    if (path)
        fail_msg("%s: found as %s (expected %s)", name, path, words);
    assert_int_equal(check_message(name, &e, words), 0);
}

static void test_revisions(void **state)
{
    (void)state;
    use("HF_HUB_CACHE", join("hub"));
    found("me/toy", FIRST);
    found("me/toy@main", FIRST);
    found("me/toy@v1.0", SECOND);
    found("me/toy@" SECOND, SECOND);
    found("me/toy@0123f", SECOND);
    refused("me/toy@0123", "begins the hashes of 2 snapshots");
    refused("me/toy@012", "has no revision 012|hf download me/toy --revision 012|" FIRST);
    refused("me/toy@v2", "has no revision v2|hf download me/toy --revision v2");
    refused("me/toy@refs", "has no revision refs");
    refused("me/toy@refs/pr/1",
            "incomplete|model.safetensors|hf download me/toy --revision " BROKEN);
    refused("me/toy@bbbb", "incomplete|model.safetensors");
    refused("me/other", "neither a path nor a model in the cache|`hf download me/other`");
    refused("alone", "snapshots/" SECOND ": cannot be opened|hf download alone");
    refused("alone@" FIRST, "incomplete|no files");
}

static void test_variables(void **state)
{
    (void)state;
    use("HUGGINGFACE_HUB_CACHE", join("hub"));
    found("me/toy", FIRST);
    use("HF_HOME", join("."));
    struct error e = {""};
    char *path = hub_find("me/toy", &e);
    assert_non_null(path);
    free(path);
    use("HF_HOME", "~");
    setenv("HOME", scratch_folder, 1);
    refused("me/toy", "cache ~/hub");
    use("HF_HUB_CACHE", "~/hub");
    setenv("HOME", scratch_folder, 1);
    found("me/toy", FIRST);
    setenv("HF_HOME", "/nowhere", 1); /* comes behind */
    found("me/toy", FIRST);
    use("XDG_CACHE_HOME", "/nowhere");
    refused("me/toy", "cache /nowhere/huggingface/hub");
    use("HOME", "/nowhere");
    refused("me/toy", "cache /nowhere/.cache/huggingface/hub");
    use(NULL, NULL);
    refused("me/toy", "neither HF_HOME nor HOME");
}

static void test_names(void **state)
{
    static const char *const names[] = {"a/b", "EleutherAI/pythia-70m", "a.b/c_d@main",
                                        "a/b@refs/pr/1"},
                             *const others[] = {"a",       "/a/b",    "./a/b",     "a/b/c",
                                                "a//b",    "a/",      "/b",        "a--b/c",
                                                "a/b@",    "a/b@..",  "a/b@../x",  "a/b@x/..",
                                                "a/b@/x",  "a/b@x/",  "a/b@-x",    "a/b@x//y",
                                                "a/b@x y", "a/b c",   "-a/b",      "a/b@x;ls",
                                                "a/.b",    "a/b@./x", "a/b@x/./y", "a/b@x\ny"};
    (void)state;
    use("HF_HUB_CACHE", join("hub"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!hub_is_name(names[i]))
            fail_msg("%s is a name", names[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (hub_is_name(others[i]))
            fail_msg("%s is not a name", others[i]);
    refused("me/toy@../../x", "not the name of a model");
    char text[400];
    snprintf(text, sizeof text, "me/%0300d", 0);
    assert_false(hub_is_name(text));
    snprintf(text, sizeof text, "me/toy@%0300d", 0);
    assert_false(hub_is_name(text));
}

/* Whatever lies in a cache, there is one line. */
static void test_hostile(void **state)
{
    static char large[100000];
    (void)state;
    use("HF_HUB_CACHE", join("hub"));
    put(join("hub/models--me--toy/refs/out"), "../../../../etc");
    refused("me/toy@out", "refs/out: holds no hash");
    put(join("hub/models--me--toy/refs/two"), FIRST " " SECOND);
    refused("me/toy@two", "holds no hash");
    put(join("hub/models--me--toy/refs/empty"), "");
    refused("me/toy@empty", "holds no hash");
    memset(large, 'a', sizeof large - 1);
    put(join("hub/models--me--toy/refs/large"), large);
    refused("me/toy@large", "refs/large: has 99999 bytes");
    put(join("hub/models--me--toy/refs/absent"), &BROKEN[1]);
    refused("me/toy@absent", "holds no hash");
    put(join("hub/models--me--toy/refs/absent"), "ffffffffffffffffffffffffffffffffffffffff");
    refused("me/toy@absent", "cannot be opened|hf download me/toy --revision absent");
    assert_int_equal(symlink("loop", join("hub/models--me--toy/refs/loop")), 0);
    refused("me/toy@loop", "refs/loop: cannot be opened");
    assert_int_equal(mkfifo(join("hub/models--me--toy/refs/pipe"), 0600), 0);
    refused("me/toy@pipe", "pipe or device");
    assert_int_equal(
        symlink("cccc456789abcdef0123456789abcdef01234567",
                join("hub/models--me--toy/snapshots/cccc456789abcdef0123456789abcdef01234567")),
        0);
    refused("me/toy@cccc", "cannot be opened");
    assert_int_equal(symlink("models--me--loop", join("hub/models--me--loop")), 0);
    refused("me/loop", "models--me--loop: ");
    put(join("hub/models--me--file"), "");
    refused("me/file", "has no revision main");
}

/* ---- folders that stand for a file ---- */

static void stands_for(const char *folder, const char *name, const char *words)
{
    struct error e = {""};
    char *file = NULL;
    int rc = checkpoint_in_folder(&file, join("%s", folder), &e);
    if (words) {
        assert_int_equal(rc, -1);
        assert_int_equal(check_message(folder, &e, words), 0);
        return;
    }
    assert_int_equal(rc, 0);
    if (name)
        assert_string_equal(file, join("%s/%s", folder, name));
    else
        assert_null(file);
    free(file);
}

static void test_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir(join("g"), 0700), 0);
    stands_for("g", NULL, NULL);
    stands_for("absent", NULL, NULL);
    put(join("g/one.gguf"), "");
    put(join("g/.hidden.gguf"), "");
    stands_for("g", "one.gguf", NULL);
    put(join("g/other.gguf"), "");
    stands_for("g", NULL, "holds 2 GGUF files|one.gguf, other.gguf");
    for (int i = 0; i < 40; i++)
        put(join("g/model-%030d.gguf", i), "");
    stands_for("g", NULL, "holds 42 GGUF files|...");
    put(join("g/config.json"), "{}");
    stands_for("g", NULL, NULL);

    assert_int_equal(mkdir(join("shards"), 0700), 0);
    for (int i = 1; i <= 3; i++)
        put(join("shards/m-%05d-of-00003.gguf", i), "");
    stands_for("shards", "m-00001-of-00003.gguf", NULL);
    put(join("shards/m.gguf"), "");
    stands_for("shards", NULL, "holds 4 GGUF files");
    unlink(join("shards/m.gguf"));
    unlink(join("shards/m-00003-of-00003.gguf"));
    stands_for("shards", NULL, "shards: shard 3 of 3 is missing (m-00001-of-00003.gguf is there)");
    unlink(join("shards/m-00001-of-00003.gguf"));
    stands_for("shards", NULL, "shards: shard 1 of 3 is missing (m-00002-of-00003.gguf is there)");
    put(join("shards/n-00003-of-00003.gguf"), "");
    stands_for("shards", NULL, "holds 2 GGUF files");

    assert_int_equal(mkdir(join("fairseq"), 0700), 0);
    put(join("fairseq/checkpoint_last.pt"), "");
    stands_for("fairseq", NULL, NULL);
    put(join("fairseq/dict.txt"), "");
    stands_for("fairseq", "checkpoint_last.pt", NULL);
    put(join("fairseq/checkpoint_best.pt"), "");
    stands_for("fairseq", "checkpoint_best.pt", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_revisions),
                                       cmocka_unit_test(test_variables),
                                       cmocka_unit_test(test_names), cmocka_unit_test(test_hostile),
                                       cmocka_unit_test(test_folders)};
    return cmocka_run_group_tests(tests, make_cache, scratch_teardown);
}

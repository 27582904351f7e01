/* --adapter as a user meets it: whose numbers, names, digests, commands and journals it changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH "0123456789abcdef0123456789abcdef01234567"
#define BASE "goldens/llama-gqa"
#define ADAPTER "goldens/adapters/llama-patterns"
#define TOKENS " --tokens " BASE "/tokens.npy --format svg --bootstrap 0 "

static int setup(void **state)
{
    static const char *const folders[] = {"hub", "hub/models--me--tuned",
                                          "hub/models--me--tuned/refs",
                                          "hub/models--me--tuned/snapshots"};
    static int32_t ids[32100];
    char real[PATH_MAX];
    FILE *f;
    int rc = 0;

    (void)state;
    if (program_open() != 0 || !realpath("tests/goldens", real) ||
        symlink(real, at("goldens")) != 0 || setenv("HF_HUB_CACHE", at("hub"), 1) != 0)
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        rc |= mkdir(at("%s", folders[i]), 0700);
    rc |= symlink("../../../" ADAPTER, at("hub/models--me--tuned/snapshots/" HASH));
    f = fopen(at("hub/models--me--tuned/refs/main"), "we");
    for (int i = 0; i < 32100; i++)
        ids[i] = i * 7 % 97;
    rc |= tiny_npy(at("stream.npy"), ids, 0, 32100);
    return rc != 0 || !f || fputs(HASH, f) < 0 || fclose(f) != 0 ? -1 : 0;
}

static void it_is_part_of_the_model(void **state)
{
    struct result plain, tuned;

    (void)state;
    succeed("erf " BASE TOKENS "-o plain");
    succeed("erf " BASE TOKENS "--adapter " ADAPTER " -o tuned");
    plain = read_result("plain");
    tuned = read_result("tuned");
    assert_string_equal(plain.models[0].name, "llama-gqa");
    assert_null(plain.models[0].adapter);
    assert_string_equal(tuned.models[0].name, "llama-gqa+llama-patterns");
    assert_string_equal(tuned.models[0].path, BASE);
    assert_string_equal(tuned.models[0].adapter, ADAPTER);
    assert_string_not_equal(plain.models[0].digest, tuned.models[0].digest);
    assert_non_null(strstr(tuned.command, " --adapter " ADAPTER));
    assert_true(plain.models[0].fields[0].logprob[0] != tuned.models[0].fields[0].logprob[0]);
    result_free(&plain);
    result_free(&tuned);
    expect("plot plain tuned -o both", 0, "");
    expect("erf x=" BASE TOKENS "--adapter " ADAPTER " -o named", 0, "\nx ");
    expect("info " BASE " --adapter " ADAPTER, 0, "\nadapter        " ADAPTER "\n");
    expect("info " BASE " --verify --adapter " ADAPTER, 0, "\nverified       3 files");
    expect("ppl " BASE " --tokens " BASE "/tokens.npy --context 5 --adapter " ADAPTER, 0,
           "llama-gqa+llama-patterns");
}

/* The settings of an adapter change the digest, though its tensors are the same. */
static void settings_are_in_the_digest(void **state)
{
    struct result a, b;
    size_t size;
    char *text = slurp(at(ADAPTER "/adapter_config.json"), &size), *alpha;
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(at("other"), 0700), 0);
    assert_non_null(text);
    alpha = strstr(text, "\"lora_alpha\": 7");
    assert_non_null(alpha);
    alpha[strlen("\"lora_alpha\": ")] = '8';
    f = fopen(at("other/adapter_config.json"), "we");
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(text);
    assert_int_equal(symlink("../" ADAPTER "/adapter_model.safetensors",
                             at("other/adapter_model.safetensors")),
                     0);
    succeed("erf " BASE TOKENS "--adapter other -o other-result");
    a = read_result("tuned");
    b = read_result("other-result");
    assert_string_not_equal(a.models[0].digest, b.models[0].digest);
    assert_true(a.models[0].fields[0].logprob[0] != b.models[0].fields[0].logprob[0]);
    result_free(&a);
    result_free(&b);
}

/* A journal is of one adapter; where that lies does not matter. */
static void resuming_and_merging(void **state)
{
    (void)state;
    assert_int_equal(symlink(ADAPTER, at("llama-patterns")), 0);
    succeed("erf " BASE TOKENS "--adapter " ADAPTER " --shard 1/2 -o s1");
    succeed("erf " BASE TOKENS "--adapter llama-patterns --shard 2/2 -o s2");
    succeed("erf x=" BASE TOKENS "--adapter " ADAPTER " --shard 2/2 -o s3");
    succeed("erf " BASE TOKENS "--shard 2/2 -o s4");
    succeed("merge s1 s2 -o whole --format svg");
    assert_same_file(at("whole/erf.h5"), at("tuned/erf.h5"));
    assert_same_file(at("whole/curve.csv"), at("tuned/curve.csv"));
    expect("merge s1 s3 -o bad", 1, "expected shards of one run");
    expect("merge s1 s4 -o bad", 1, "expected shards of one run");

    /* one that is killed once it has written something */
    const char *line = "erf " BASE " --tokens stream.npy --dtype f64 --length 60 --stride 8 "
                       "--segments 4000 --format svg --bootstrap 0 "
                       "--quiet -o killed --adapter ";
    char command[512];
    snprintf(command, sizeof command, "%s" ADAPTER, line);
    struct outcome o = run_until_journal(command, "killed", SIGKILL, 8192);
    assert_int_equal(o.status, -SIGKILL);
    outcome_free(&o);
    snprintf(command, sizeof command, "%sother --resume", line);
    expect(command, 1, "model 1 name");
    snprintf(command, sizeof command, "%.*s--resume", (int)(strstr(line, "--adapter") - line),
             line);
    expect(command, 1, "model 1 name");
    assert_int_equal(mkdir(at("elsewhere"), 0700), 0);
    assert_int_equal(symlink("../other", at("elsewhere/llama-patterns")), 0);
    snprintf(command, sizeof command, "%selsewhere/llama-patterns --resume", line);
    expect(command, 1, "model 1 digest");
}

static void converted(void **state)
{
    struct result a, b;

    (void)state;
    succeed("convert " BASE " merged --adapter " ADAPTER);
    succeed("erf merged" TOKENS "-o of-merged");
    a = read_result("tuned");
    b = read_result("of-merged");
    for (size_t i = 0; i < a.models[0].segments; i++)
        assert_true(a.models[0].fields[0].logprob[i] == b.models[0].fields[0].logprob[i]);
    assert_memory_equal(a.models[0].fields[0].norm, b.models[0].fields[0].norm,
                        a.models[0].segments * a.models[0].fields[0].positions * sizeof(double));
    assert_null(b.models[0].adapter);
    result_free(&a);
    result_free(&b);
    succeed("convert " BASE " merged.h5 --adapter " ADAPTER);
}

/* Several, each with a factor: theirs are in the name, the attribute and the digest. */
static void several(void **state)
{
    static const char two[] = "--adapter " ADAPTER "=0.7 --adapter goldens/adapters/llama-bin";
    struct result a, b, c;
    char command[512];

    (void)state;
    snprintf(command, sizeof command, "erf " BASE TOKENS "%s -o two", two);
    succeed("%s", command);
    succeed("erf " BASE TOKENS "--adapter " ADAPTER
            "=0.8 --adapter goldens/adapters/llama-bin -o other-two");
    succeed("erf " BASE TOKENS "--adapter " ADAPTER "=1 -o one");
    a = read_result("two");
    b = read_result("other-two");
    assert_string_equal(a.models[0].name, "llama-gqa+llama-patterns=0.7+llama-bin");
    assert_string_equal(a.models[0].adapter, ADAPTER "=0.7, goldens/adapters/llama-bin");
    assert_string_not_equal(a.models[0].digest, b.models[0].digest);
    assert_true(a.models[0].fields[0].logprob[0] != b.models[0].fields[0].logprob[0]);
    result_free(&b);
    b = read_result("tuned");
    c = read_result("one"); /* a factor of 1 is none */
    assert_string_equal(b.models[0].digest, c.models[0].digest);
    result_free(&b);
    result_free(&c);
    snprintf(command, sizeof command, "convert " BASE " both-merged %s", two);
    succeed("%s", command);
    succeed("erf both-merged" TOKENS "-o of-both");
    b = read_result("of-both");
    assert_memory_equal(a.models[0].fields[0].norm, b.models[0].fields[0].norm,
                        a.models[0].segments * a.models[0].fields[0].positions * sizeof(double));
    result_free(&a);
    result_free(&b);
    for (int i = 1; i <= 2; i++) {
        snprintf(command, sizeof command, "erf " BASE TOKENS "%s --shard %d/2 -o part%d", two, i,
                 i);
        succeed("%s", command);
    }
    succeed("merge part1 part2 -o joined --format svg");
    assert_same_file(at("joined/erf.h5"), at("two/erf.h5"));
    expect("info " BASE " --adapter goldens/adapters/llama-dora=0.5", 1,
           "use_dora is not supported with a factor or another adapter");
}

/* A folder whose name ends in a number, as sweeps have it, is no folder with a factor. */
static void names_with_equals_signs(void **state)
{
    struct result a, b;

    (void)state;
    assert_int_equal(mkdir(at("sweep"), 0777), 0);
    assert_int_equal(symlink("../" ADAPTER, at("sweep/r=16")), 0);
    assert_int_equal(symlink("../goldens/adapters/llama-bin", at("sweep/r")), 0);
    succeed("erf " BASE TOKENS "--adapter sweep/r=16 -o sixteen");
    a = read_result("tuned");
    b = read_result("sixteen");
    assert_string_equal(a.models[0].digest, b.models[0].digest);
    result_free(&b);
    result_free(&a);
    succeed("info " BASE " --adapter sweep/r=16=0.5");
    expect("info " BASE " --adapter sweep/r=nan", 1, "\"nan\" is no factor");
    expect("info " BASE " --adapter sweep/r=1e-400", 1, "\"1e-400\" is no factor");
    expect("info " BASE " --adapter sweep/r=half", 1, "\"half\" is no factor");
    expect("info " BASE " --adapter lr=1e-4/adapter", 1, "lr=1e-4/adapter: holds no adapter");
    expect("info " BASE " --adapter sweep/r=", 1, "\"\" is no factor");
}

static void by_name(void **state)
{
    struct outcome o = reach("erf " BASE TOKENS "--adapter me/tuned -o by-name");
    struct result r;

    (void)state;
    if (o.status != 0 || !strstr(o.err, "me/tuned: snapshot "))
        fail_msg("%d %s", o.status, o.err);
    outcome_free(&o);
    r = read_result("by-name");
    assert_string_equal(r.models[0].name, "llama-gqa+tuned");
    assert_string_equal(r.models[0].adapter, at("hub/models--me--tuned/snapshots/" HASH));
    result_free(&r);
}

static void what_does_not_go_is_refused(void **state)
{
    (void)state;
    expect("erf " BASE " goldens/gpt2" TOKENS "--adapter " ADAPTER, 2,
           "--adapter is for one model, and 2 are given");
    expect("ppl " BASE " " BASE " --tokens x --adapter " ADAPTER, 2, "--adapter is for one model");
    expect("trf alibi --adapter x", 2, "--adapter: unknown option");
    expect("info " ADAPTER, 1,
           ADAPTER ": is only an adapter (expected llama-gqa as the model, with --adapter " ADAPTER
                   ")");
    expect("erf " ADAPTER TOKENS, 1, "is only an adapter");
    expect("convert " ADAPTER " out", 1, "is only an adapter");
    expect("info goldens/gpt2 --adapter " ADAPTER, 1, "does not have");
    expect("info " BASE " --adapter me/none", 1, "hf download me/none");
    expect("info " BASE " --adapter nowhere", 1, "nowhere: holds no adapter");
    expect("info goldens/gguf/gpt2.gguf --adapter goldens/adapters/gpt2-conv1d", 1, "is GGUF");
    expect("convert goldens/gguf/gpt2.gguf out --widen --adapter goldens/adapters/gpt2-conv1d", 1,
           "is GGUF");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_part_of_the_model),
        cmocka_unit_test(settings_are_in_the_digest),
        cmocka_unit_test(resuming_and_merging),
        cmocka_unit_test(converted),
        cmocka_unit_test(several),
        cmocka_unit_test(names_with_equals_signs),
        cmocka_unit_test(by_name),
        cmocka_unit_test(what_does_not_go_is_refused),
    };
    return cmocka_run_group_tests_name("adapter", tests, setup, program_close);
}

/* Files of torch.save, in both forms, against PyTorch's own tensors (tests/goldens/torch/make.py);
 * broken and hostile ones. */
#include "io/torch/torch.h"
#include "io/checkpoint/checkpoint.h"
#include "tests/expected.h"
#include "tests/scratch.h"
#include "tests/stored_zip.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDENS "tests/goldens/torch/"

static struct tensors *open_tensors(const char *path, struct error *e)
{
    struct config *own;
    struct tensors *t = checkpoint_tensors(path, &own, e);
    config_close(own);
    return t;
}

static void test_goldens(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"plain.pt", "plain.json"},
                                           {"legacy.pt", "plain.json"},
                                           {"nested.pt", "nested.json"},
                                           {"opaque.pt", "nested.json"},
                                           {"shards", "shards/expected.json"},
                                           {"shards/pytorch_model.bin.index.json",
                                            "shards/expected.json"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[256], expected[256];
        struct error e = {""};
        snprintf(path, sizeof path, GOLDENS "%s", cases[i][0]);
        snprintf(expected, sizeof expected, GOLDENS "%s", cases[i][1]);
        struct tensors *t = open_tensors(path, &e);
        if (!t)
            fail_msg("%s: %s", path, e.text);
        expect_tensors(t, expected);
        tensors_close(t);
    }
}

/* Views, not copies; strides and shared storages as they are; integers listed and not found. */
static void test_views(void **state)
{
    (void)state;
    static const char *const files[] = {GOLDENS "plain.pt", GOLDENS "legacy.pt"};
    for (size_t i = 0; i < 2; i++) {
        struct error e = {""};
        struct tensors *t = open_tensors(files[i], &e);
        assert_string_equal(e.text, "");
        const struct tensor *base = tensors_find(t, "a.weight"),
                            *turned = tensors_find(t, "a.transposed"),
                            *rows = tensors_find(t, "a.rows"),
                            *every = tensors_find(t, "a.every.second");
        const struct mapped *file = store_file(base);
        assert_true((const unsigned char *)base->data > file->bytes &&
                    (const unsigned char *)base->data < file->bytes + file->size);
        assert_ptr_equal(turned->data, base->data);
        assert_int_equal(turned->stride[0], 1);
        assert_int_equal(turned->stride[1], 4);
        assert_ptr_equal(rows->data, (const float *)base->data + 8);
        assert_int_equal(every->stride[0], 8);
        assert_int_equal(every->stride[1], 2);
        assert_int_equal(tensors_find_any(t, "long")->integer, 1);
        assert_int_equal(tensors_find_any(t, "mask")->used, 1);
        assert_null(tensors_find(t, "long"));
        assert_null(tensors_find(t, "mask"));
        tensors_close(t);
    }
    struct error e = {""};
    struct tensors *t = open_tensors(GOLDENS "untyped.pt", &e);
    assert_string_equal(e.text, "");
    assert_string_equal(tensors_find_any(t, "w")->stored->name, "U16");
    assert_non_null(tensors_find(t, "x"));
    tensors_close(t);
}

static void test_refused_goldens(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"unknown.pt", "names lost.module.Lost, which no state dict needs|ever run"},
        {"complex.pt", "tensor w is stored as C64, which is not supported"},
        {"list.pt", "holds a list without tensors|expected a state dict"},
        {"tensor.pt", "holds the object torch._utils._rebuild_tensor_v2(...) without tensors"},
        {"expanded.pt", "tensor w has 1000 elements in a storage of 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[256];
        struct error e = {""};
        snprintf(path, sizeof path, GOLDENS "%s", cases[i][0]);
        assert_null(open_tensors(path, &e));
        assert_int_equal(check_message(cases[i][0], &e, cases[i][1]), 0);
    }
}

/* -- made by hand -- */

#define STORAGE(class, key, count) \
    "(U\7storage" \
    "ctorch\n" class "\n" \
                     "U\1" key "U\3cpu" count "tQ"
#define TENSOR(storage, offset, size, stride) \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage offset size stride "\x89" \
    "ccollections\nOrderedDict\n)RtR"
#define DICT(value) "\x80\2}U\1w" value "s."

static const float numbers[4] = {1, 2, 3, 4};

/* Opens {"w": what the pickle says} beside one storage "0" of four floats. */
static struct tensors *open_pickle(const char *pickle, size_t size, const char *version,
                                   const char *order, struct error *e)
{
    unsigned char *file = malloc(8192 + size);
    const struct stored_record records[] = {{"x/data.pkl", pickle, size},
                                            {"x/data/0", numbers, sizeof numbers},
                                            {"x/version", version, strlen(version)},
                                            {"x/byteorder", order, strlen(order)}};
    size_t bytes = stored_zip(file, records, *order ? 4 : *version ? 3 : 2, 0);
    struct tensors *t = open_tensors(scratch_write(scratch_folder, "hand.bin", file, bytes), e);
    free(file);
    return t;
}

#define OPEN(pickle, e) open_pickle(pickle, sizeof(pickle) - 1, "3\n", "little", e)

static void test_by_hand(void **state)
{
    (void)state;
    struct error e = {""};
    struct tensors *t =
        OPEN(DICT(TENSOR(STORAGE("FloatStorage", "0", "K\4"), "K\1", "K\1K\2\x86", "K\2K\2\x86")),
             &e);
    assert_string_equal(e.text, "");
    const struct tensor *w = tensors_find(t, "w");
    float two[2];
    tensor_copy(two, w, 0, 2);
    assert_true(two[0] == 2 && two[1] == 4);
    tensors_close(t);
    static const char parameter[] = DICT(
        "ctorch._utils\n_rebuild_parameter\n(" TENSOR(STORAGE("FloatStorage", "0", "K\4"), "K\0",
                                                      "K\4\x85", "K\1\x85") "\x88}tR");
    t = open_pickle(parameter, sizeof parameter - 1, "10", "", &e);
    assert_string_equal(e.text, "");
    assert_int_equal(tensors_find(t, "w")->count, 4);
    tensors_close(t);
}

static void test_refused_by_hand(void **state)
{
    (void)state;
#define CASE(what, pickle, words) \
    { \
        what, pickle, sizeof(pickle) - 1, words \
    }
#define GOOD STORAGE("FloatStorage", "0", "K\4")
    static const struct {
        const char *what, *pickle;
        size_t size;
        const char *words;
    } cases[] = {
        CASE("a call as the object", "\x80\2cposix\nsystem\n(U\2idtR.",
             "holds the object posix.system(...) without tensors|ever run"),
        CASE("a call beside tensors",
             "\x80\2}(U\1w" TENSOR(GOOD, "K\0", "K\4\x85",
                                   "K\1\x85") "U\1xcposix\nsystem\n(U\2idtRu.",
             "names posix.system, which no state dict needs"),
        CASE("a call in the metadata",
             "\x80\2}U\1w" TENSOR(GOOD, "K\0", "K\4\x85",
                                  "K\1\x85") "s}U\1mcos\nsystem\n(U\2idtRsb.",
             "names os.system, which no state dict needs"),
        CASE("a call dropped",
             "\x80\2}U\1w" TENSOR(GOOD, "K\0", "K\4\x85", "K\1\x85") "scposix\nsystem\n(U\2idtR0.",
             "opcode 0x30|no state dict needs"),
        CASE("a call in a state dict below",
             "\x80\2}U\5model}(U\1w" TENSOR(GOOD, "K\0", "K\4\x85",
                                            "K\1\x85") "U\1xcposix\nsystem\n(U\2idtRus.",
             "tensor x is the object posix.system(...) (expected a tensor)"),
        CASE("a call as a storage",
             DICT(TENSOR("cposix\nsystem\n(U\2idtR", "K\0", "K\4\x85", "K\1\x85")),
             "names posix.system, which no state dict needs"),
        CASE("a tensor as a storage",
             DICT(TENSOR(TENSOR(GOOD, "K\0", "K\4\x85", "K\1\x85"), "K\0", "K\4\x85", "K\1\x85")),
             "has the object torch._utils._rebuild_tensor_v2(...) for a storage"),
        CASE("a module as an id",
             DICT("(U\6module"
                  "K\0K\0K\0K\0tQ"),
             "persistent id is not that of a storage"),
        CASE("an id of two", DICT("U\7storageK\0\x86Q"), "persistent id is not that of a storage"),
        CASE("beyond the storage", DICT(TENSOR(GOOD, "K\1", "K\4\x85", "K\1\x85")),
             "tensor w reaches element 4 of a storage of 4"),
        CASE("offset beyond", DICT(TENSOR(GOOD, "J\xFF\xFF\xFF\x7F", "K\1\x85", "K\1\x85")),
             "tensor w reaches element 2147483647 of a storage of 4"),
        CASE("stride beyond", DICT(TENSOR(GOOD, "K\0", "K\2\x85", "K\4\x85")),
             "tensor w reaches element 4 of a storage of 4"),
        CASE("negative offset", DICT(TENSOR(GOOD, "J\xFF\xFF\xFF\xFF", "K\1\x85", "K\1\x85")),
             "negative or malformed offset"),
        CASE("negative size", DICT(TENSOR(GOOD, "K\0", "J\xFF\xFF\xFF\xFF\x85", "K\1\x85")),
             "negative or malformed"),
        CASE("negative stride", DICT(TENSOR(GOOD, "K\0", "K\2\x85", "J\xFF\xFF\xFF\xFF\x85")),
             "negative or malformed"),
        CASE("fewer strides", DICT(TENSOR(GOOD, "K\0", "K\2K\2\x86", "K\1\x85")),
             "malformed offset, shape or stride"),
        CASE("a size that is text", DICT(TENSOR(GOOD, "K\0", "U\1x\x85", "K\1\x85")),
             "malformed offset, shape or stride"),
        CASE("a list for a shape", DICT(TENSOR(GOOD, "K\0", "]", "]")),
             "malformed offset, shape or stride"),
        CASE("9 dimensions",
             DICT(TENSOR(GOOD, "K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t",
                         "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t")),
             "at most 8 dimensions"),
        CASE("shape overflows",
             DICT(TENSOR(GOOD, "K\0", "\x8a\6\0\0\0\0\0\1\x8a\6\0\0\0\0\0\1\x86", "K\0K\0\x86")),
             "overflows 64 bits"),
        CASE("bytes overflow",
             DICT(TENSOR(GOOD, "K\0", "\x8a\x08\0\0\0\0\0\0\0\x40\x85", "K\0\x85")),
             "overflows 64 bits"),
        CASE("stride overflows",
             DICT(TENSOR(GOOD, "K\0", "K\3\x85", "\x8a\x08\0\0\0\0\0\0\0\x7F\x85")),
             "reaches element|of a storage of 4"),
        CASE("stride overflows twice",
             DICT(TENSOR(GOOD, "K\0", "K\3K\3\x86",
                         "\x8a\x08\0\0\0\0\0\0\0\x7F\x8a\x08\0\0\0\0\0\0\0\x7F\x86")),
             "strides beyond what can be counted"),
        CASE("stands for many", DICT(TENSOR(GOOD, "K\0", "\x8a\5\0\0\0\0\1\x85", "K\0\x85")),
             "tensor w has 4294967296 elements in a storage of 4"),
        CASE("a storage of another size",
             DICT(TENSOR(STORAGE("FloatStorage", "0", "K\5"), "K\0", "K\4\x85", "K\1\x85")),
             "storage 0 has 16 bytes (expected 20)"),
        CASE("a storage of a smaller size",
             DICT(TENSOR(STORAGE("FloatStorage", "0", "K\3"), "K\0", "K\3\x85", "K\1\x85")),
             "storage 0 has 16 bytes (expected 12)"),
        CASE("a storage of another type",
             DICT(TENSOR(STORAGE("DoubleStorage", "0", "K\4"), "K\0", "K\4\x85", "K\1\x85")),
             "storage 0 has 16 bytes (expected 32)"),
        CASE("a storage that overflows",
             DICT(TENSOR(STORAGE("FloatStorage", "0", "\x8a\x08\4\0\0\0\0\0\0\x40"), "K\0",
                         "K\4\x85", "K\1\x85")),
             "more bytes than can be counted"),
        CASE("a negative storage",
             DICT(TENSOR(STORAGE("FloatStorage", "0", "J\xFF\xFF\xFF\xFF"), "K\0", "K\4\x85",
                         "K\1\x85")),
             "no number of elements"),
        CASE("an absent storage",
             DICT(TENSOR(STORAGE("FloatStorage", "7", "K\4"), "K\0", "K\4\x85", "K\1\x85")),
             "storage 7 is not in the file"),
        CASE("a storage of no known type",
             DICT(TENSOR(STORAGE("QInt8Storage", "0", "K\4"), "K\0", "K\4\x85", "K\1\x85")),
             "names torch.QInt8Storage"),
        CASE("the same below model",
             "\x80\2}U\5model"
             "}U\1w" TENSOR(STORAGE("QInt8Storage", "0", "K\4"), "K\0", "K\4\x85", "K\1\x85") "ss.",
             "its storage is of type torch.QInt8Storage, which is not supported"),
        CASE("number for a tensor",
             "\x80\2}(U\1w" TENSOR(GOOD, "K\0", "K\4\x85", "K\1\x85") "U\1xK\1u.",
             "tensor x is a whole number (expected a tensor)"),
        CASE("number for a name",
             "\x80\2}(U\1w" TENSOR(GOOD, "K\0", "K\4\x85",
                                   "K\1\x85") "K\1" TENSOR(GOOD, "K\0", "K\4\x85", "K\1\x85") "u.",
             "name of a tensor is a whole number"),
        CASE("NUL in a name", "\x80\2}U\3w\0x" TENSOR(GOOD, "K\0", "K\4\x85", "K\1\x85") "s.",
             "NUL"),
        CASE("the same name twice",
             "\x80\2}(U\1w" TENSOR(GOOD, "K\0", "K\4\x85",
                                   "K\1\x85") "U\1w" TENSOR(GOOD, "K\0", "K\4\x85", "K\1\x85") "u.",
             "holds tensor w twice"),
        CASE("an empty dict", "\x80\2}.", "holds a dict without tensors"),
        CASE("bytes after the pickle", DICT(TENSOR(GOOD, "K\0", "K\4\x85", "K\1\x85")) "x",
             "1 bytes follow the end of the pickle"),
        CASE("arguments missing", DICT("ctorch._utils\n_rebuild_tensor_v2\n(" GOOD "K\0tR"),
             "without tensors"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tensors *t = open_pickle(cases[i].pickle, cases[i].size, "3\n", "little", &e);
        if (t)
            print_error("%s was accepted\n", cases[i].what);
        assert_null(t);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].what, &e, "hand.bin: "), 0);
    }
    static const char good[] = DICT(TENSOR(GOOD, "K\0", "K\4\x85", "K\1\x85"));
    static const char *const envelopes[][3] = {
        {"", "", "without the record version"},
        {"0\n", "", "is of version '0\\n'"},
        {"11\n", "", "is of version '11\\n'"},
        {"x\n", "", "is of version 'x\\n'"},
        {"3x", "", "is of version '3x'"},
        {"3\n", "big", "byte order 'big' (expected little)"}};
    for (size_t i = 0; i < sizeof envelopes / sizeof *envelopes; i++) {
        struct error e = {""};
        assert_null(open_pickle(good, sizeof good - 1, envelopes[i][0], envelopes[i][1], &e));
        assert_int_equal(check_message(envelopes[i][2], &e, envelopes[i][2]), 0);
    }
    unsigned char file[4096];
    struct error e = {""};
    const struct stored_record script[] = {{"x/data.pkl", good, sizeof good - 1},
                                           {"x/constants.pkl", good, sizeof good - 1},
                                           {"x/version", "3\n", 2}};
    assert_null(open_tensors(scratch_write(scratch_folder, "script.pt", file,
                                           stored_zip(file, script, 3, 0)),
                             &e));
    assert_int_equal(check_message("script", &e, "TorchScript"), 0);
    assert_null(open_tensors(scratch_write(scratch_folder, "none.pt", file,
                                           stored_zip(file, script + 1, 2, 0)),
                             &e));
    assert_int_equal(check_message("no object", &e, "without the record data.pkl"), 0);
}

/* -- the older form -- */

#define MAGIC "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define SYSTEM "\x80\2M\xe9\3.\x80\2}U\x0dlittle_endian\x88s."
#define OLD_STORAGE(view) \
    "(U\7storage" \
    "ctorch\nFloatStorage\nU\1" \
    "0U\3cpuK\4" view "tQ"
#define OLD_PAIR \
    "\x80\2}(U\1w" TENSOR(OLD_STORAGE("N"), "K\0", "K\2\x85", \
                          "K\1\x85") "U\1x" TENSOR("(U\7storage" \
                                                   "ctorch\nHalfStorage\nU\1" \
                                                   "0U\3cpuK\4" \
                                                   "NtQ", \
                                                   "K\0", "K\2\x85", "K\1\x85") "u."
#define OLD_DATA \
    "\4\0\0\0\0\0\0\0" \
    "0123456789abcdef"

static void test_older(void **state)
{
    (void)state;
#define OLD(what, system, storage, keys, data, words) \
    { \
        what, MAGIC system DICT(TENSOR(storage, "K\0", "K\2\x85", "K\1\x85")) keys data, \
            sizeof(MAGIC system DICT(TENSOR(storage, "K\0", "K\2\x85", "K\1\x85")) keys data) - 1, \
            words \
    }
    static const struct {
        const char *what, *bytes;
        size_t size;
        const char *words;
    } cases[] = {
        OLD("good", SYSTEM, OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA, NULL),
        OLD("good view", SYSTEM, OLD_STORAGE("(U\1vK\1K\2t"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA, NULL),
        OLD("view beyond", SYSTEM, OLD_STORAGE("(U\1vK\3K\2t"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA, "view of its storage goes beyond"),
        OLD("view too short", SYSTEM, OLD_STORAGE("(U\1vK\1K\1t"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA, "reaches element 1 of a storage of 1"),
        OLD("view malformed", SYSTEM, OLD_STORAGE("K\1"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA, "view of its storage is malformed"),
        OLD("other protocol", "\x80\2M\xe8\3.\x80\2}.", OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA, "a protocol other than 1001"),
        OLD("big-endian", "\x80\2M\xe9\3.\x80\2}U\x0dlittle_endian\x89s.", OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA, "little-endian"),
        OLD("no byte order", "\x80\2M\xe9\3.\x80\2}.", OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA, "little-endian"),
        OLD("no keys", SYSTEM, OLD_STORAGE("N"), "\x80\2].", "", "storage 0 is not in the file"),
        OLD("keys are not a list", SYSTEM, OLD_STORAGE("N"),
            "\x80\2U\1"
            "0.",
            OLD_DATA, "no list of its storages' keys"),
        OLD("unknown key", SYSTEM, OLD_STORAGE("N"),
            "\x80\2]U\1"
            "1a.",
            OLD_DATA, "lists a storage that no tensor uses"),
        OLD("key is a number", SYSTEM, OLD_STORAGE("N"), "\x80\2]K\1a.", OLD_DATA,
            "lists a storage that no tensor uses"),
        OLD("key twice", SYSTEM, OLD_STORAGE("N"),
            "\x80\2](U\1"
            "0U\1"
            "0e.",
            OLD_DATA OLD_DATA, "lists storage 0 twice"),
        OLD("another count", SYSTEM, OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            "\5\0\0\0\0\0\0\0"
            "0123456789abcdef",
            "states 5 elements (expected 4)"),
        OLD("negative count", SYSTEM, OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "states -1 elements"),
        OLD("cut off", SYSTEM, OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            "\4\0\0\0\0\0\0\0"
            "0123456789abcde",
            "more than the file holds"),
        OLD("cut off before", SYSTEM, OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            "\4\0\0\0", "cut off before storage 0"),
        {"two types",
         MAGIC SYSTEM OLD_PAIR "\x80\2]U\1"
                               "0a." OLD_DATA,
         sizeof(MAGIC SYSTEM OLD_PAIR "\x80\2]U\1"
                                      "0a." OLD_DATA) -
             1,
         "storage 0 is of two types or sizes"},
        OLD("bytes after", SYSTEM, OLD_STORAGE("N"),
            "\x80\2]U\1"
            "0a.",
            OLD_DATA "x", "1 bytes follow its last storage"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tensors *t = open_tensors(scratch_write(scratch_folder, "old.bin", cases[i].bytes,
                                                       cases[i].size),
                                         &e);
        if (!cases[i].words) {
            if (!t)
                fail_msg("%s: %s", cases[i].what, e.text);
            assert_memory_equal(tensors_find(t, "w")->data,
                                strstr(cases[i].what, "view") ? "456789ab" : "01234567", 8);
            tensors_close(t);
            continue;
        }
        if (t)
            print_error("%s was accepted\n", cases[i].what);
        assert_null(t);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
    }
}

/* Every cut and many changes of good files: an error with words, or a store whose data can all be
 * read. */
static void test_damaged(void **state)
{
    (void)state;
    static const char *const files[] = {GOLDENS "shards/pytorch_model-00001-of-00002.bin",
                                        GOLDENS "legacy.pt"};
    static const unsigned char values[] = {0, 1, 0xFF, '.', 'R', 'K', 0x80};
    unsigned sum = 0;
    for (size_t f = 0; f < 2; f++) {
        size_t size;
        unsigned char *good = scratch_read(files[f], &size), *copy = malloc(size);
        for (size_t i = 0; i < 2 * size; i++) {
            struct error e = {""};
            struct torch_file file;
            size_t n = i < size ? i : size;
            memcpy(copy, good, size);
            if (i >= size)
                copy[i - size] = values[i % sizeof values];
            if (torch_open_memory(&file, "damaged", copy, n, &e)) {
                assert_int_equal(check_message("damaged", &e, "damaged: "), 0);
                continue;
            }
            assert_true(i >= size);
            struct tensors *t = store_create("damaged", &e);
            const struct mapped mapped = {.path = (char *)"damaged", .bytes = copy, .size = n};
            if (torch_read(t, &mapped, &file, &e))
                assert_int_equal(check_message("damaged", &e, "damaged: "), 0);
            else
                for (size_t k = 0; k < tensors_count(t); k++) {
                    unsigned char bytes[256];
                    assert_true(tensors_at(t, k)->bytes <= sizeof bytes);
                    tensor_copy(bytes, tensors_at(t, k), 0, tensors_at(t, k)->count);
                    sum += bytes[0];
                }
            tensors_close(t);
            torch_close(&file);
        }
        free(copy);
        free(good);
    }
    assert_true(sum > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),         cmocka_unit_test(test_views),
        cmocka_unit_test(test_refused_goldens), cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_refused_by_hand), cmocka_unit_test(test_older),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

/* safetensors: what must be read, and every broken file that must be refused with the right words.
 */
#include "io/checkpoint/checkpoint.h"
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
#include <xxhash.h>

static struct tensors *open_tensors(const char *path, struct error *e)
{
    struct config *own;
    return checkpoint_tensors(path, &own, e);
}

/* Writes header size, header and `data_bytes` bytes of 0, 1, 2, ... */
static const char *write_tensors(const char *name, const char *header, size_t header_bytes,
                                 size_t data_bytes)
{
    unsigned char *file = malloc(8 + header_bytes + data_bytes);
    uint64_t stated = header_bytes;
    memcpy(file, &stated, 8);
    memcpy(file + 8, header, header_bytes);
    for (size_t i = 0; i < data_bytes; i++)
        file[8 + header_bytes + i] = (unsigned char)i;
    const char *path = scratch_write(scratch_folder, name, file, 8 + header_bytes + data_bytes);
    free(file);
    return path;
}

static const char two_tensors[] =
    "{\"__metadata__\":{\"format\":\"pt\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_"
    "offsets\":[3,11]},\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}  \n";

static void test_two_tensors(void **state)
{
    (void)state;
    struct error e = {""};
    struct tensors *t =
        open_tensors(write_tensors("two.safetensors", two_tensors, strlen(two_tensors), 11), &e);
    assert_string_equal(e.text, "");
    assert_non_null(t);
    assert_int_equal(tensors_count(t), 2);
    assert_string_equal(tensors_at(t, 0)->name, "b");
    assert_int_equal(tensors_at(t, 0)->used, 1);
    assert_int_equal(tensors_at(t, 0)->integer, 1);
    assert_null(tensors_find(t, "b")); /* an integer buffer */
    assert_null(tensors_find(t, "w "));
    struct tensor *w = tensors_find(t, "w");
    assert_ptr_equal(w, tensors_at(t, 1));
    assert_int_equal(w->type, ELEMENT_F32);
    assert_int_equal(w->rank, 2);
    assert_int_equal(w->shape[0], 2);
    assert_int_equal(w->shape[1], 1);
    assert_int_equal(w->count, 2);
    assert_int_equal(w->bytes, 8);
    assert_int_equal(w->used, 0);
    const unsigned char want[8] = {3, 4, 5, 6, 7, 8, 9, 10};
    assert_memory_equal(w->data, want, 8);
    float wide[2], first;
    memcpy(&first, want, 4);
    element_widen_f32(wide, w->data, w->type, 2); /* not aligned: reads must not care */
    assert_memory_equal(&wide[0], &first, 4);
    assert_string_equal(tensors_path(t), scratch_path(scratch_folder, "two.safetensors"));
    tensors_release_pages(w->data, w->bytes);
    assert_memory_equal(w->data, want, 8);
    tensors_close(t);
    tensors_close(NULL);
}

/* Headers that are good: of each, name of one tensor (NULL: none), its rank and count. */
static void test_accepted(void **state)
{
    (void)state;
    const struct {
        const char *header;
        size_t data;
        const char *name;
        int rank;
        size_t count;
    } cases[] = {
        {"{}", 0, NULL, 0, 0},
        {" \t\r\n{} \n\t", 0, NULL, 0, 0},
        {"{\"__metadata__\":{}}", 0, NULL, 0, 0},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}", 8, "a", 0, 1},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "a", 1, 0},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[3,0,5],\"data_offsets\":[0,0]}}", 0, "a", 3, 0},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[1,1,1,1,1,1,1,2],\"data_offsets\":[0,4]}}", 4, "a",
         8, 2},
        /* an empty tensor between two others, listed out of order */
        {"{\"z\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[2,4]},\"a\":{\"dtype\":\"F16\","
         "\"shape\":[0],\"data_"
         "offsets\":[2,2]},\"y\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}",
         4, "a", 1, 0},
        {"{\"\xCE\x94\\u0301 \\\"x\\\"\":{\"data_offsets\":[0,2],\"shape\":[1],\"dtype\":\"F16\"}}",
         2, "\xCE\x94\xCC\x81 \"x\"", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tensors *t = open_tensors(write_tensors("good.safetensors", cases[i].header,
                                                       strlen(cases[i].header), cases[i].data),
                                         &e);
        if (!t) {
            print_error("%s: %s\n", cases[i].header, e.text);
            fail();
        }
        if (cases[i].name) {
            struct tensor *found = tensors_find(t, cases[i].name);
            assert_non_null(found);
            assert_int_equal(found->rank, cases[i].rank);
            assert_int_equal(found->count, cases[i].count);
            assert_non_null(found->data);
        } else {
            assert_int_equal(tensors_count(t), 0);
        }
        tensors_close(t);
    }
}

#define TENSOR(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_refused_headers(void **state)
{
    (void)state;
    const struct {
        const char *what, *header;
        size_t data;
        const char *words;
    } cases[] = {
        {"not UTF-8", "{\"\xFF\":{}}", 0, "header is not UTF-8"},
        {"overlong UTF-8", "{\"\xC0\x80\":{}}", 0, "header is not UTF-8"},
        {"empty header", "", 0, "header is not valid JSON"},
        {"not JSON", "{", 0, "header is not valid JSON"},
        {"text after", "{} x", 0, "header is not valid JSON"},
        {"a list", "[]", 0, "header is not a JSON object"},
        {"a number", "7", 0, "header is not"},
        {"NUL in a name", "{\"a\\u0000b\":{}}", 0, "header is not valid JSON"},
        {"metadata is text", "{\"__metadata__\":\"x\"}", 0, "__metadata__ is not an object"},
        {"metadata value", "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__ 'a' is not text"},
        {"entry is a list", "{\"a\":[]}", 0, "tensor a|not described by an object"},
        {"no dtype", "{\"a\":{\"shape\":[],\"data_offsets\":[0,4]}}", 4, "tensor a has no dtype"},
        {"dtype is a number", "{\"a\":{\"dtype\":32,\"shape\":[],\"data_offsets\":[0,4]}}", 4,
         "tensor a has no dtype"},
        {"unknown dtype", "{" TENSOR("a", "Q7", "[]", "[0,4]") "}", 4,
         "tensor a|unknown dtype 'Q7'|expected F64, F32, F16 or BF16"},
        {"lower case", "{" TENSOR("a", "f32", "[]", "[0,4]") "}", 4, "unknown dtype 'f32'"},
        {"8-bit float", "{" TENSOR("a", "F8_E4M3FNUZ", "[4]", "[0,4]") "}", 4,
         "tensor a is stored as F8_E4M3FNUZ, which is not supported"},
        {"8-bit float, 2", "{" TENSOR("a", "F8_E5M2", "[4]", "[0,4]") "}", 4,
         "F8_E5M2, which is not supported"},
        {"4-bit, misaligned", "{" TENSOR("a", "F4", "[3]", "[0,1]") "}", 1,
         "F4, which is not supported"},
        {"complex", "{" TENSOR("a", "C64", "[1]", "[0,8]") "}", 8, "C64, which is not supported"},
        {"no shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4,
         "tensor a has no shape"},
        {"shape is a number", "{" TENSOR("a", "F32", "1", "[0,4]") "}", 4, "tensor a has no shape"},
        {"negative size", "{" TENSOR("a", "F32", "[-1]", "[0,4]") "}", 4,
         "tensor a|not a whole number"},
        {"fractional size", "{" TENSOR("a", "F32", "[1.0]", "[0,4]") "}", 4,
         "tensor a|not a whole number"},
        {"size beyond 64 bits", "{" TENSOR("a", "F32", "[18446744073709551616]", "[0,4]") "}", 4,
         "not valid JSON"},
        {"size beyond 63 bits", "{" TENSOR("a", "F32", "[9223372036854775808]", "[0,4]") "}", 4,
         "not valid JSON"},
        {"rank 9", "{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4,
         "tensor a has 9 dimensions (expected at most 8)"},
        {"shape overflow", "{" TENSOR("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", 4,
         "tensor a|overflows 64 bits"},
        {"byte overflow", "{" TENSOR("a", "F64", "[4294967295,4294967295]", "[0,4]") "}", 4,
         "tensor a|overflows 64 bits"},
        {"wrap to the right size", "{" TENSOR("a", "F32", "[4611686018427387905]", "[0,4]") "}", 4,
         "tensor a|overflows 64 bits"},
        {"no offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4,
         "tensor a has no data_offsets"},
        {"one offset", "{" TENSOR("a", "F32", "[1]", "[0]") "}", 4, "tensor a has no data_offsets"},
        {"three offsets", "{" TENSOR("a", "F32", "[1]", "[0,4,8]") "}", 4,
         "tensor a has no data_offsets"},
        {"negative offset", "{" TENSOR("a", "F32", "[1]", "[-4,0]") "}", 4,
         "tensor a|data_offsets that are not whole numbers"},
        {"fractional offset", "{" TENSOR("a", "F32", "[1]", "[0,4.0]") "}", 4,
         "tensor a|data_offsets that are not whole numbers"},
        {"end before begin", "{" TENSOR("a", "F32", "[1]", "[4,0]") "}", 4,
         "tensor a ends at byte 0, before its begin at 4"},
        {"too few bytes for the shape", "{" TENSOR("a", "F32", "[2]", "[0,4]") "}", 4,
         "tensor a has 4 bytes of data (expected 8"},
        {"too many bytes for the shape", "{" TENSOR("a", "F32", "[2]", "[0,12]") "}", 12,
         "tensor a has 12 bytes of data (expected 8"},
        {"begins after 0", "{" TENSOR("a", "F32", "[1]", "[4,8]") "}", 8,
         "hole of 4 bytes lies before tensor a"},
        {"hole", "{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[8,12]") "}",
         12, "hole of 4 bytes lies before tensor b"},
        {"overlap",
         "{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("b", "F32", "[2]", "[4,12]") "}", 12,
         "tensor b overlap those of tensor a"},
        {"shared data",
         "{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[0,4]") "}", 4,
         "overlap those of tensor"},
        {"data cut off", "{" TENSOR("a", "F32", "[2]", "[0,8]") "}", 7,
         "tensor a end at offset 8, but the file has only 7|cut off"},
        {"no data", "{" TENSOR("a", "F32", "[2]", "[0,8]") "}", 0, "tensor a|only 0"},
        {"huge claim", "{" TENSOR("a", "F32", "[1099511627776]", "[0,4398046511104]") "}", 4,
         "tensor a|only 4"},
        {"trailing bytes", "{" TENSOR("a", "F32", "[1]", "[0,4]") "}", 5,
         "1 bytes follow the last tensor"},
        {"trailing bytes, no tensor", "{}", 1, "1 bytes follow the last tensor"},
        {"duplicate name",
         "{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("a", "F32", "[1]", "[4,8]") "}", 8,
         "duplicate"},
        {"duplicate dtype",
         "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "duplicate"},
        {"control characters in a name", "{" TENSOR("a\\u001b[2J\\n", "Q7", "[1]", "[0,4]") "}", 4,
         "tensor a\\x1B[2J\\n has"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tensors *t = open_tensors(write_tensors("bad.safetensors", cases[i].header,
                                                       strlen(cases[i].header), cases[i].data),
                                         &e);
        if (t)
            print_error("%s was accepted\n", cases[i].what);
        assert_null(t);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].what, &e, "bad.safetensors: "), 0);
    }
}

static void test_refused_files(void **state)
{
    (void)state;
    const struct {
        const char *what, *bytes;
        size_t size;
        const char *words;
    } cases[] = {
        {"empty", "", 0, "has 0 bytes"},
        {"seven bytes", "\2\0\0\0\0\0\0", 7, "has 7 bytes"},
        {"header beyond the cap", "\1\xE1\xF5\5\0\0\0\0{}", 10,
         "header of 100000001 bytes (expected at most 100000000"},
        {"header beyond 63 bits", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10,
         "header of 18446744073709551615 bytes"},
        {"header beyond the end", "\3\0\0\0\0\0\0\0{}", 10, "header of 3 bytes, but only 2 follow"},
        {"header only stated", "\2\0\0\0\0\0\0\0", 8, "header of 2 bytes, but only 0 follow"},
        {"no header", "\0\0\0\0\0\0\0\0", 8, "header is not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        assert_null(open_tensors(scratch_write(scratch_folder, "bad.safetensors", cases[i].bytes,
                                               cases[i].size),
                                 &e));
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
    }
}

/* Names, counts and nesting that a literal table cannot hold. */
static void test_refused_sizes(void **state)
{
    (void)state;
    struct error e = {""};
    char *header = malloc(1 << 20);
    int n = sprintf(header, "{\"");
    memset(header + n, 'n', 1025);
    sprintf(header + n + 1025, "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}");
    assert_null(open_tensors(write_tensors("bad.safetensors", header, strlen(header), 4), &e));
    assert_int_equal(check_message("long name", &e, "name has 1025 bytes (expected at most 1024)"),
                     0);

    char *at = header + sprintf(header, "{");
    for (int i = 0; i < 50000; i++)
        at += sprintf(at, "%s\"%x\":0", i ? "," : "", i);
    sprintf(at, "}");
    assert_null(open_tensors(write_tensors("bad.safetensors", header, strlen(header), 4), &e));
    assert_int_equal(check_message("many names", &e,
                                   "names 50000 tensors|more than can be described there"),
                     0);

    memset(header, '[', 100000);
    memcpy(header, "{\"a\":", 5);
    assert_null(open_tensors(write_tensors("bad.safetensors", header, 100000, 4), &e));
    assert_int_equal(check_message("deep nesting", &e, "not valid JSON"), 0);
    free(header);

    assert_null(open_tensors(scratch_path(scratch_folder, "absent.safetensors"), &e));
    assert_int_equal(check_message("absent", &e,
                                   "absent.safetensors: cannot be opened: No such file"),
                     0);
    assert_int_equal(mkfifo(scratch_path(scratch_folder, "pipe.safetensors"), 0600), 0);
    assert_null(open_tensors(scratch_path(scratch_folder, "pipe.safetensors"), &e));
    assert_int_equal(check_message("pipe", &e, "expected a regular file"), 0);
}

/* Every cut and many single-byte changes of a good file: an error with words, or a store whose data
 * can all be touched. */
static void test_damaged(void **state)
{
    (void)state;
    size_t size;
    struct error e = {""};
    unsigned char *good = scratch_read(write_tensors("good.safetensors", two_tensors,
                                                     strlen(two_tensors), 11),
                                       &size);
    for (size_t n = 0; n < size; n++) {
        assert_null(open_tensors(scratch_write(scratch_folder, "cut.safetensors", good, n), &e));
        assert_int_equal(check_message("cut", &e, "cut.safetensors: "), 0);
    }
    const unsigned char values[] = {0, '"', '{', '}', '[', ',', '0', '9', '-', 'F', ' ', 0xFF};
    unsigned sum = 0;
    for (size_t i = 0; i < size - 11; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            unsigned char kept = good[i];
            good[i] = values[k];
            e.text[0] = '\0';
            struct tensors *t =
                open_tensors(scratch_write(scratch_folder, "changed.safetensors", good, size), &e);
            good[i] = kept;
            if (!t)
                assert_int_equal(check_message("changed", &e, "changed.safetensors: "), 0);
            for (size_t j = 0; t && j < tensors_count(t); j++)
                for (size_t b = 0; b < tensors_at(t, j)->bytes; b++)
                    sum += ((const unsigned char *)tensors_at(t, j)->data)[b];
            tensors_close(t);
        }
    assert_true(sum > 0);
    free(good);
}

static void write_json(const char *text)
{
    scratch_write(scratch_folder, "model.safetensors.index.json", text, strlen(text));
}

static void test_shards(void **state)
{
    (void)state;
    struct error e = {""};
    const char *first = "{" TENSOR("w.10", "F32", "[1]", "[0,4]") "," TENSOR("w.9", "F32", "[1]",
                                                                             "[4,8]") "}";
    const char *second = "{" TENSOR("a", "BF16", "[2]", "[0,4]") "}";
    write_tensors("model-2.safetensors", first, strlen(first), 8);
    write_tensors("model-1.safetensors", second, strlen(second), 4);
    write_json("{\"metadata\":{\"total_size\":12},\"weight_map\":{\"w.9\":\"model-2.safetensors\","
               "\"w.10\":\"model-2."
               "safetensors\",\"a\":\"model-1.safetensors\"}}");
    struct tensors *t = open_tensors(scratch_folder, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(tensors_count(t), 3);
    const char *names[] = {"a", "w.10", "w.9"};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(tensors_at(t, i)->name, names[i]);
        assert_ptr_equal(tensors_find(t, names[i]), tensors_at(t, i));
    }
    assert_int_equal(((const unsigned char *)tensors_find(t, "w.9")->data)[0], 4);

    /* digest: of the bytes of all shards in the order of their names */
    char digest[33], want[33];
    size_t size_1, size_2;
    unsigned char *bytes_1 = scratch_read(scratch_path(scratch_folder, "model-1.safetensors"),
                                          &size_1);
    unsigned char *bytes_2 = scratch_read(scratch_path(scratch_folder, "model-2.safetensors"),
                                          &size_2);
    unsigned char *joined = malloc(size_1 + size_2);
    memcpy(joined, bytes_1, size_1);
    memcpy(joined + size_1, bytes_2, size_2);
    XXH128_hash_t hash = XXH3_128bits(joined, size_1 + size_2);
    snprintf(want, sizeof want, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    assert_int_equal(tensors_digest(t, digest, &e), 0);
    assert_string_equal(digest, want);
    free(bytes_1);
    free(bytes_2);
    free(joined);
    tensors_close(t);

    /* by the index itself, and by one shard alone */
    assert_non_null(
        t = open_tensors(scratch_path(scratch_folder, "model.safetensors.index.json"), &e));
    assert_int_equal(tensors_count(t), 3);
    tensors_close(t);
    assert_non_null(t = open_tensors(scratch_path(scratch_folder, "model-2.safetensors"), &e));
    assert_int_equal(tensors_count(t), 2);
    tensors_close(t);

    write_tensors("again.safetensors", second, strlen(second), 4);
    write_tensors("broken.safetensors", second, strlen(second), 3);
    const struct {
        const char *what, *index, *words;
    } cases[] = {
        {"no JSON", "{", "index is not valid JSON"},
        {"no map", "{\"metadata\":{}}", "weight_map is missing"},
        {"empty map", "{\"weight_map\":{}}", "weight_map is missing or empty"},
        {"map is a list", "{\"weight_map\":[]}", "weight_map is missing"},
        {"file is a number", "{\"weight_map\":{\"a\":1}}", "shard of tensor a is not text"},
        {"path upwards", "{\"weight_map\":{\"a\":\"../model-1.safetensors\"}}",
         "'../model-1.safetensors' is not the name of a shard"},
        {"absolute path", "{\"weight_map\":{\"a\":\"/etc/passwd\"}}",
         "'/etc/passwd' is not the name of a shard"},
        {"backslash", "{\"weight_map\":{\"a\":\"x\\\\y\"}}", "is not the name of a shard"},
        {"dots", "{\"weight_map\":{\"a\":\"..\"}}", "is not the name of a shard"},
        {"empty name", "{\"weight_map\":{\"a\":\"\"}}", "is not the name of a shard"},
        {"the folder", "{\"weight_map\":{\"a\":\".\"}}", "is not the name of a shard"},
        {"absent shard", "{\"weight_map\":{\"a\":\"model-3.safetensors\"}}",
         "model-3.safetensors: is missing (the index beside it lists it)"},
        {"absent tensor", "{\"weight_map\":{\"x\":\"model-1.safetensors\"}}",
         "tensor x is not in its shard model-1.safetensors"},
        {"tensor in the other shard",
         "{\"weight_map\":{\"a\":\"model-2.safetensors\",\"w.9\":\"model-1.safetensors\"}}",
         "is not in its shard"},
        {"two shards with one tensor",
         "{\"weight_map\":{\"a\":\"model-1.safetensors\",\"w.9\":\"model-2.safetensors\",\"b\":"
         "\"again.safetensors\"}}",
         "tensor a is also in"},
        {"broken shard", "{\"weight_map\":{\"a\":\"broken.safetensors\"}}",
         "broken.safetensors: |tensor a"},
        {"duplicate",
         "{\"weight_map\":{\"a\":\"model-1.safetensors\",\"a\":\"model-1.safetensors\"}}",
         "duplicate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_json(cases[i].index);
        t = open_tensors(scratch_folder, &e);
        if (t)
            print_error("%s was accepted\n", cases[i].what);
        assert_null(t);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
    }
}

static void test_folder(void **state)
{
    (void)state;
    struct error e = {""};
    assert_int_equal(unlink(scratch_path(scratch_folder, "model.safetensors.index.json")), 0);
    assert_null(open_tensors(scratch_folder, &e));
    assert_int_equal(check_message("empty folder", &e,
                                   "model.safetensors or model.safetensors.index.json"),
                     0);
    write_tensors("model.safetensors", two_tensors, strlen(two_tensors), 11);
    char with_slash[4096];
    snprintf(with_slash, sizeof with_slash, "%s/", scratch_folder);
    const char *paths[] = {scratch_folder, with_slash};
    for (int i = 0; i < 2; i++) {
        struct tensors *t = open_tensors(paths[i], &e);
        assert_non_null(t);
        assert_non_null(tensors_find(t, "w"));
        tensors_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_tensors),     cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused_headers), cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_refused_sizes),   cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_shards),          cmocka_unit_test(test_folder),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

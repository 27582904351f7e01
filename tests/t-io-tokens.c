/* Text, gzip and HDF5 to tokens. */
#include "io/tokens/tokens.h"
#include "io/system/input.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* -- text -- */

enum { TEXT_BYTES = 200000 };

static unsigned char text_byte(size_t i)
{
    return (unsigned char)(i * i / 7 + i / 1000);
}

static int read_text(struct tokens *t, const char *const *files, int count, struct error *e)
{
    struct text text;
    *t = (struct tokens){0};
    int result = text_read(&text, files, count, e) ? -1 : tokens_from_text(t, &text, NULL, e);
    text_free(&text);
    return result;
}

/* gzip of text bytes [first, first + count); returns the packed size. */
static size_t pack(unsigned char *out, size_t room, size_t first, size_t count)
{
    unsigned char *plain = malloc(count ? count : 1);
    for (size_t i = 0; i < count; i++)
        plain[i] = text_byte(first + i);
    z_stream z = {.next_in = plain,
                  .avail_in = (uInt)count,
                  .next_out = out,
                  .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    free(plain);
    return room - z.avail_out;
}

static void assert_text(const struct tokens *t, size_t count)
{
    assert_int_equal(t->total, count);
    assert_int_equal(t->columns, 0);
    for (size_t i = 0; i < count; i++)
        if (t->ids[i] != text_byte(i)) {
            print_error("byte %zu is %d (expected %d)\n", i, t->ids[i], text_byte(i));
            fail();
        }
}

static void test_text(void **state)
{
    (void)state;
    struct error e = {""};
    struct tokens t;
    unsigned char *plain = malloc(TEXT_BYTES), *packed = malloc(2 * TEXT_BYTES);
    for (size_t i = 0; i < TEXT_BYTES; i++)
        plain[i] = text_byte(i);
    /* sizes around the block the reader works with, in one file and in three */
    const size_t sizes[] = {1, 2, 65535, 65536, 65537, TEXT_BYTES};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t n = sizes[k], third = n / 3;
        const char *one = scratch_write(scratch_folder, "one", plain, n);
        assert_int_equal(read_text(&t, &one, 1, &e), 0);
        assert_text(&t, n);
        tokens_free(&t);
        size_t size = pack(packed, 2 * TEXT_BYTES, third, third);
        const char *three[] = {scratch_write(scratch_folder, "a", plain, third),
                               scratch_write(scratch_folder, "b", packed, size),
                               scratch_write(scratch_folder, "c", plain + 2 * third,
                                             n - 2 * third)};
        assert_int_equal(read_text(&t, three, 3, &e), 0);
        assert_text(&t, n);
        tokens_free(&t);
        tokens_free(&t);
    }
    /* members one after the other are one text, an empty one among them */
    size_t size = pack(packed, 2 * TEXT_BYTES, 0, 1000);
    size += pack(packed + size, TEXT_BYTES, 1000, 0);
    size += pack(packed + size, TEXT_BYTES, 1000, TEXT_BYTES - 1000);
    const char *members = scratch_write(scratch_folder, "members.gz", packed, size);
    assert_int_equal(read_text(&t, &members, 1, &e), 0);
    assert_text(&t, TEXT_BYTES);
    tokens_free(&t);
    /* the same through standard input */
    const char *standard = "-";
    int kept = dup(STDIN_FILENO), file = open(members, O_RDONLY);
    dup2(file, STDIN_FILENO);
    close(file);
    int result = read_text(&t, &standard, 1, &e);
    dup2(kept, STDIN_FILENO);
    close(kept);
    assert_int_equal(result, 0);
    assert_text(&t, TEXT_BYTES);
    tokens_free(&t);
    assert_string_equal(e.text, "");
    free(plain);
    free(packed);
}

static void test_refused_text(void **state)
{
    (void)state;
    struct error e = {""};
    struct tokens t;
    unsigned char packed[8192];
    size_t first = pack(packed, sizeof packed, 0, 500),
           size = first + pack(packed + first, sizeof packed - first, 500, 500);
    const char *path;
    /* cut anywhere but between the members */
    for (size_t n = 2; n < size; n++) {
        path = scratch_write(scratch_folder, "cut.gz", packed, n);
        int result = read_text(&t, &path, 1, &e);
        if (n == first) {
            assert_int_equal(result, 0);
            assert_text(&t, 500);
        } else {
            assert_int_equal(result, -1);
            assert_int_equal(check_message("cut", &e, "cut.gz: the gzip data are"), 0);
        }
        tokens_free(&t);
    }
    /* any changed byte is noticed, or harmless (a header's time, its system). That the first two
     * are gzip's is how it is recognised */
    for (size_t i = 2; i < size; i++) {
        packed[i] ^= 0x10;
        path = scratch_write(scratch_folder, "bad.gz", packed, size);
        if (read_text(&t, &path, 1, &e) == 0)
            assert_text(&t, 1000);
        else
            assert_int_equal(check_message("changed", &e, "bad.gz: the gzip data are"), 0);
        tokens_free(&t);
        packed[i] ^= 0x10;
    }
    packed[first] ^= 1; /* the second member's first byte: must not read as the end */
    path = scratch_write(scratch_folder, "bad.gz", packed, size);
    assert_int_equal(read_text(&t, &path, 1, &e), -1);
    packed[first] ^= 1;
    packed[size] = 'x';
    path = scratch_write(scratch_folder, "more.gz", packed, size + 1);
    assert_int_equal(read_text(&t, &path, 1, &e), -1);
    assert_int_equal(check_message("bytes after", &e, "more.gz: the gzip data are"), 0);

    path = scratch_write(scratch_folder, "empty", "", 0);
    assert_int_equal(read_text(&t, &path, 1, &e), -1);
    assert_int_equal(check_message("empty", &e, "empty: holds no text"), 0);
    path = scratch_folder;
    assert_int_equal(read_text(&t, &path, 1, &e), -1);
    assert_int_equal(check_message("folder", &e, "is a folder"), 0);
    path = scratch_path(scratch_folder, "absent");
    assert_int_equal(read_text(&t, &path, 1, &e), -1);
    assert_int_equal(check_message("absent", &e, "absent: cannot be opened"), 0);
    assert_int_equal(read_text(&t, NULL, 0, &e), -1);
}

/* What its first bytes tell, as text and as token ids. */
static void test_no_text(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *said;
        size_t size;
    } cases[] = {{"\x28\xB5\x2F\xFD\x04", "the zstd data are", 5},
                 {"\xFD"
                  "7zXZ\0\0",
                  "the xz data are", 7},
                 {"BZh91AY&SY", "the bzip2 data are cut off (expected a whole .bz2 file)", 10},
                 {"BZh9\x17rE8P\x90\0", "the bzip2 data are", 11},
                 {"\x5D\0\0\x80",
                  "compressed by lzma (expected plain text, .gz, .zst, .xz, .bz2, or the output of "
                  "`xz -dc FILE`",
                  4},
                 {"\x04\x22\x4D\x18", "compressed by lz4", 4},
                 {"PK\3\4\x14", "a zip archive", 5},
                 {"7z\xBC\xAF\x27\x1C", "a 7-Zip archive", 6},
                 {"\xFF\xFEt\0", "text in UTF-16 (expected UTF-8", 4},
                 {"\xFE\xFF\0t", "text in UTF-16", 4},
                 {"\xFF\xFE\0\0t\0\0\0", "text in UTF-32", 8},
                 {"\0\0\xFE\xFF\0\0\0t", "text in UTF-32", 8},
                 {"%PDF-1.7", "a PDF document", 8},
                 {"BZh91AY&S", NULL, 9},
                 {"PK\3", NULL, 3},
                 {"\xFF", NULL, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct text text;
        struct tokens t;
        const char *path = scratch_write(scratch_folder, "other", cases[i].bytes, cases[i].size);
        assert_int_equal(text_read(&text, &path, 1, &e), cases[i].said ? -1 : 0);
        if (cases[i].said)
            assert_int_equal(check_message("text", &e, cases[i].said), 0);
        text_free(&text);
        assert_int_equal(tokens_read_files(&t, &path, 1, &e), -1);
        assert_int_equal(check_message("tokens", &e,
                                       cases[i].said ? cases[i].said : "is not a token file"),
                         0);
    }
    const char *path = scratch_write(scratch_folder, "array", "\x93NUMPY\1\0", 8);
    struct error e = {""};
    struct text text;
    assert_int_equal(text_read(&text, &path, 1, &e), -1);
    assert_int_equal(check_message("array", &e,
                                   "array: is an array of numbers (expected text; --tokens"),
                     0);
}

/* A pipe is waited for only so long; one with a writer, however slow, to its end. */
static void test_pipes(void **state)
{
    (void)state;
    struct error e = {""};
    struct text text;
    const char *path = scratch_path(scratch_folder, "pipe");
    int status, patience = input_patience;
    assert_int_equal(mkfifo(path, 0600), 0);
    input_patience = 100;
    assert_int_equal(text_read(&text, &path, 1, &e), -1);
    assert_int_equal(check_message("no writer", &e, "pipe: is a pipe that nobody writes to"), 0);
    input_patience = patience;
    pid_t child = fork();
    if (child == 0) {
        int writer = open(path, O_WRONLY); /* waits for the reader */
        nanosleep(&(struct timespec){.tv_nsec = 120000000}, NULL);
        _exit(write(writer, "some", 4) == 4 && write(writer, " text", 5) == 5 ? 0 : 1);
    }
    assert_int_equal(text_read(&text, &path, 1, &e), 0);
    assert_true(text.size == 9 && memcmp(text.bytes, "some text", 9) == 0);
    text_free(&text);
    assert_true(waitpid(child, &status, 0) == child && status == 0);
}

/* MEMBERS times 1 MiB, the first NOISE bytes of which cannot be packed. */
static int read_packed_often(size_t members, size_t noise, struct error *e)
{
    enum { BYTES = 1 << 20 };
    unsigned char *plain = calloc(BYTES, 1), *packed = malloc(BYTES);
    uint32_t r = 1;
    for (size_t i = 0; i < noise; i++)
        plain[i] = (unsigned char)((r = r * 1664525 + 1013904223) >> 24);
    z_stream z = {.next_in = plain, .avail_in = BYTES, .next_out = packed, .avail_out = BYTES};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    const char *path = scratch_path(scratch_folder, "often.gz");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < members; i++)
        fwrite(packed, 1, BYTES - z.avail_out, f);
    assert_int_equal(fclose(f), 0);
    struct text text;
    int result = text_read(&text, &path, 1, e);
    assert_true(result || text.size == members * BYTES);
    text_free(&text);
    free(plain);
    free(packed);
    return result;
}

/* What stands for far more than its size is refused soon, whatever the memory. */
static void test_bombs(void **state)
{
    (void)state;
    struct error e = {""};
    assert_int_equal(read_packed_often(60, 0, &e), 0);
    assert_int_equal(read_packed_often(66, 0, &e), -1);
    assert_int_equal(check_message("zeros", &e,
                                   "often.gz: unpacks to more than 256 times its size"),
                     0);
    assert_int_equal(read_packed_often(66, 4096, &e), 0);
}

/* TOKENS bytes in one dataset of HDF5, the first NOISE of which cannot be packed. */
static int read_packed_hdf(hsize_t tokens, size_t noise, struct error *e)
{
    const char *path = scratch_path(scratch_folder, "packed.h5");
    hsize_t chunk = 1 << 20;
    unsigned char *bytes = calloc(tokens, 1);
    uint32_t r = 1;
    for (size_t i = 0; i < noise; i++)
        bytes[i] = (unsigned char)((r = r * 1664525 + 1013904223) >> 24);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
          space = H5Screate_simple(1, &tokens, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_chunk(list, 1, &chunk) >= 0 && H5Pset_deflate(list, 6) >= 0);
    hid_t dataset = H5Dcreate2(file, "tokens", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
    struct tokens t = {0};
    int result = tokens_read_files(&t, &path, 1, e);
    assert_true(result || t.total == tokens);
    tokens_free(&t);
    free(bytes);
    return result;
}

static void test_hdf_bombs(void **state)
{
    (void)state;
    struct error e = {""};
    assert_int_equal(read_packed_hdf(64000000, 0, &e), 0);
    assert_int_equal(read_packed_hdf(64000000 + 1, 0, &e), -1);
    assert_int_equal(check_message("zeros", &e,
                                   "packed.h5: tokens unpacks to more than 256 times its size"),
                     0);
    assert_int_equal(read_packed_hdf(64000000 + 1, 300000, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),    cmocka_unit_test(test_refused_text),
        cmocka_unit_test(test_no_text), cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_bombs),   cmocka_unit_test(test_hdf_bombs),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

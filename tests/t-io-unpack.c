/* Text in zstd, xz and bzip2, read as gzip is: whole, in parts, cut off, damaged, and far larger
 * than its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/tokens/tokens.h"
#include "tests/scratch.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <bzlib.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Each packs `size` bytes as one part, and returns its size. */
static size_t pack_zstd(unsigned char *out, size_t room, const void *text, size_t size)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t n;

    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)));
    n = ZSTD_compress2(c, out, room, text, size);
    assert_false(ZSTD_isError(n));
    ZSTD_freeCCtx(c);
    return n;
}

static size_t pack_xz(unsigned char *out, size_t room, const void *text, size_t size)
{
    size_t n = 0;

    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, text, size, out, &n, room),
                     LZMA_OK);
    return n;
}

static size_t pack_bzip2(unsigned char *out, size_t room, const void *text, size_t size)
{
    unsigned int n = (unsigned int)room;

    assert_int_equal(BZ2_bzBuffToBuffCompress((char *)out, &n, (char *)text, (unsigned int)size, 9,
                                              0, 0),
                     BZ_OK);
    return n;
}

static const struct {
    const char *name, *file;
    size_t (*pack)(unsigned char *out, size_t room, const void *text, size_t size);
} formats[] = {{"zstd", "text.zst", pack_zstd},
               {"xz", "text.xz", pack_xz},
               {"bzip2", "text.bz2", pack_bzip2}};
enum { FORMATS = sizeof formats / sizeof *formats, TEXT = 300000, ROOM = 2 * TEXT };

/* Words, whose packed size is a few times smaller. */
static char *make_text(void)
{
    char *text = malloc(TEXT + 1);
    uint32_t r = 1;

    for (size_t i = 0; i < TEXT; i++) {
        r = r * 1664525 + 1013904223;
        text[i] = (char)("etaoin shrdlu\n"[(r >> 24) % 14]);
    }
    return text;
}

static int read_file(struct text *out, const char *name, const void *data, size_t size,
                     struct error *e)
{
    const char *path = scratch_write(scratch_folder, name, data, size);

    return text_read(out, &path, 1, e);
}

static void whole_and_in_parts(void **state)
{
    char *text = make_text();
    unsigned char *packed = malloc(ROOM);

    (void)state;
    for (size_t f = 0; f < FORMATS; f++)
        for (size_t parts = 1; parts <= 3; parts++) { /* the second of three is empty */
            size_t first = parts == 1 ? TEXT : 1000,
                   size = formats[f].pack(packed, ROOM, text, first);
            struct text t;
            struct error e = {""};

            if (parts == 3)
                size += formats[f].pack(packed + size, ROOM - size, text, 0);
            if (parts > 1)
                size += formats[f].pack(packed + size, ROOM - size, text + first, TEXT - first);
            if (read_file(&t, formats[f].file, packed, size, &e) != 0)
                fail_msg("%zu parts: %s", parts, e.text);
            assert_int_equal(t.size, TEXT);
            assert_memory_equal(t.bytes, text, TEXT);
            text_free(&t);
        }
    free(text);
    free(packed);
}

static void damage_is_noticed(void **state)
{
    enum { SHORT = 600 };
    char *text = make_text();
    unsigned char packed[4096];

    (void)state;
    for (size_t f = 0; f < FORMATS; f++) {
        size_t first = formats[f].pack(packed, sizeof packed, text, SHORT),
               size = first +
                      formats[f].pack(packed + first, sizeof packed - first, text + SHORT, SHORT);
        char words[80];
        struct text t;
        struct error e;

        snprintf(words, sizeof words, "%s: the %s data are", formats[f].file, formats[f].name);
        for (size_t n = 10; n < size; n++) { /* shorter ones do not look packed */
            int rc = read_file(&t, formats[f].file, packed, n, &e);

            assert_int_equal(rc, n == first ? 0 : -1);
            if (rc != 0 && check_message("cut off", &e, words) != 0)
                fail_msg("%s: %zu of %zu bytes", formats[f].name, n, size);
            text_free(&t);
        }
        for (size_t i = 10; i < size; i++) {
            packed[i] ^= 0x10;
            if (read_file(&t, formats[f].file, packed, size, &e) != 0)
                assert_int_equal(check_message("changed", &e, words), 0);
            else if (t.size != 2 * SHORT || memcmp(t.bytes, text, t.size) != 0)
                fail_msg("%s: byte %zu of %zu is changed, and so is the text", formats[f].name, i,
                         size);
            text_free(&t);
            packed[i] ^= 0x10;
        }
        packed[size] = 'x';
        assert_int_equal(read_file(&t, formats[f].file, packed, size + 1, &e), -1);
        assert_int_equal(check_message("bytes after it", &e, words), 0);
        size = formats[f].pack(packed, sizeof packed, text, 0);
        assert_int_equal(read_file(&t, formats[f].file, packed, size, &e), -1);
        assert_int_equal(check_message("nothing in it", &e, "holds no text"), 0);
    }
    free(text);
}

/* Zeros: refused after 64 MB, whatever the memory. */
static void bombs_are_refused(void **state)
{
    enum { ZEROS = 66 << 20 };
    char *zeros = calloc(ZEROS, 1);
    unsigned char *packed = malloc(1 << 20);

    (void)state;
    for (size_t f = 0; f < FORMATS; f++) {
        size_t size = formats[f].pack(packed, 1 << 20, zeros, ZEROS);
        struct text t;
        struct error e;

        assert_int_equal(read_file(&t, formats[f].file, packed, size, &e), -1);
        assert_int_equal(check_message("zeros", &e, "unpacks to more than 256 times its size"), 0);
    }
    free(zeros);
    free(packed);
}

/* Headers that ask for more memory than a text needs. */
static void memory_is_bounded(void **state)
{
    lzma_options_lzma options;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
    unsigned char packed[1000] = {0x28, 0xB5, 0x2F, 0xFD, 0, 0xA0}; /* a window of 1 GiB */
    struct text t;
    struct error e;
    size_t size = 0;

    (void)state;
    assert_int_equal(read_file(&t, "wide.zst", packed, 40, &e), -1);
    assert_int_equal(check_message("zstd", &e, "wide.zst: the zstd data are damaged: |memory"), 0);
    assert_false(lzma_lzma_preset(&options, 0));
    options.dict_size = 1 << 30;
    options.mf = LZMA_MF_HC3;
    assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL,
                                               (const uint8_t *)"text", 4, packed, &size,
                                               sizeof packed),
                     LZMA_OK);
    assert_int_equal(read_file(&t, "wide.xz", packed, size, &e), -1);
    assert_int_equal(check_message("xz", &e, "wide.xz: the xz data are damaged: |more than 134 MB"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_and_in_parts),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(memory_is_bounded),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

/* What fuzz targets share. */
#include "tests/fuzz/fuzz.h"

#include "io/tensors/tensors.h"
#include "tests/scratch.h"

#include <hdf5.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void give_up(const char *what)
{
    perror(what);
    abort();
}

size_t fuzz_split(struct fuzz_part *parts, size_t most, const uint8_t *data, size_t size)
{
    const size_t length = sizeof FUZZ_BETWEEN - 1;
    size_t count = 0;
    for (size_t i = 0; i < most; i++)
        parts[i] = (struct fuzz_part){data, 0};
    while (count < most) {
        const uint8_t *end = count + 1 < most ? memmem(data, size, FUZZ_BETWEEN, length) : NULL;
        parts[count++] = (struct fuzz_part){data, end ? (size_t)(end - data) : size};
        if (!end)
            break;
        size -= (size_t)(end - data) + length;
        data = end + length;
    }
    return count;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        give_up("memory");
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* Of the sanitizers' runtime, where there is one. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* Files of HDF5 are read by processes of their own; when one of these crashes, libFuzzer would take
 * that for a finding. */
static void forget_fuzzer(void)
{
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(NULL);
}

static char *folder;

static void remove_folder(void)
{
    scratch_remove(folder);
}

const char *fuzz_folder(void)
{
    if (!folder) {
        folder = scratch_make();
        atexit(remove_folder);
        pthread_atfork(NULL, NULL, forget_fuzzer);
        H5open(); /* once, rather than in every child */
    }
    return folder;
}

const char *fuzz_write(const char *name, const uint8_t *data, size_t size)
{
    return scratch_write(fuzz_folder(), name, data, size);
}

void fuzz_read_tensors(struct tensors *t)
{
    enum { COUNT = 64 };
    static _Alignas(double) unsigned char elements[COUNT * 16];
    for (size_t i = 0; i < tensors_count(t); i++) {
        const struct tensor *tensor = tensors_at(t, i);
        size_t count = tensor->count < COUNT ? tensor->count : COUNT;
        tensor_copy(elements, tensor, 0, count);
        tensor_copy(elements, tensor, tensor->count - count, count);
    }
}

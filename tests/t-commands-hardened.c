/* The program is linked and compiled so that what goes wrong in it is hard to use: the tables of
 * the linker cannot be written to, functions of the C library and the stack are checked. Which
 * checks there can be, the compiler says to this file too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include "tests/scratch.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *bytes;
static size_t size;

static int open_program(void **state)
{
    (void)state;
    bytes = scratch_read(getenv("REACH"), &size);
    return size > sizeof(ElfW(Ehdr)) && memcmp(bytes, ELFMAG, SELFMAG) == 0 ? 0 : -1;
}

static int close_program(void **state)
{
    (void)state;
    free(bytes);
    return 0;
}

static const ElfW(Phdr) * segment(uint32_t type)
{
    const ElfW(Ehdr) *head = (const void *)bytes;
    const ElfW(Phdr) *all = (const void *)(bytes + head->e_phoff);
    for (size_t i = 0; i < head->e_phnum; i++)
        if (all[i].p_type == type)
            return &all[i];
    return NULL;
}

static uint64_t dynamic(int64_t tag)
{
    const ElfW(Phdr) *part = segment(PT_DYNAMIC);
    assert_non_null(part);
    for (const ElfW(Dyn) *d = (const void *)(bytes + part->p_offset); d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return d->d_un.d_val;
    return 0;
}

/* 1 if a name of the dynamic symbols ends so. */
static int imports(const char *end)
{
    const ElfW(Ehdr) *head = (const void *)bytes;
    const ElfW(Shdr) *all = (const void *)(bytes + head->e_shoff);
    for (size_t i = 0; i < head->e_shnum; i++) {
        if (all[i].sh_type != SHT_DYNSYM)
            continue;
        const ElfW(Sym) *symbol = (const void *)(bytes + all[i].sh_offset);
        const char *names = (const char *)bytes + all[all[i].sh_link].sh_offset;
        for (size_t k = 0; k < all[i].sh_size / sizeof *symbol; k++) {
            const char *name = names + symbol[k].st_name;
            size_t length = strlen(name);
            if (length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0)
                return 1;
        }
    }
    return 0;
}

static void test_linked(void **state)
{
    (void)state;
    assert_non_null(segment(PT_GNU_RELRO));
    assert_true((dynamic(DT_FLAGS) & DF_BIND_NOW) || (dynamic(DT_FLAGS_1) & DF_1_NOW));
    assert_non_null(segment(PT_GNU_STACK));
    assert_false(segment(PT_GNU_STACK)->p_flags & PF_X);
}

static void test_compiled(void **state)
{
    (void)state;
#if defined(__SSP_STRONG__) || defined(__SSP_ALL__)
    assert_true(imports("__stack_chk_fail"));
#else
    fail_msg("stacks are not protected");
#endif
#if defined(__x86_64__) && !defined(__CET__)
    fail_msg("-fcf-protection is not set");
#endif
#if defined(_FORTIFY_SOURCE) && _FORTIFY_SOURCE >= 2
    assert_true(imports("_chk"));
#elif defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
    fail_msg("functions of the C library are not checked"); /* clang says otherwise which sanitizers
                                                               it was asked for */
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_linked),
                                       cmocka_unit_test(test_compiled)};
    return cmocka_run_group_tests(tests, open_program, close_program);
}

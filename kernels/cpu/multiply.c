/* One matrix product in the calling thread, by oneDNN: of unrounded floats, of operands rounded to
 * bf16, or of such that are sums of two numbers of bf16.
 *
 * Rounded operands are floats too, so that every processor gives the same numbers except for the
 * order of sums, at nearly float's speed. Where bf16 instructions are faster (dispatch.c) the
 * vector kernels multiply with them; oneDNN 2.6 does too, but takes longer because it packs both
 * operands (doc/performance.md). Of sums, (h + l) (h + l) without l l is one product of three times
 * the depth, (h, h, l) (h, l, h): the "bf16_bf16_f32_x3" of XLA. */
#include "kernels/cpu/vector/denormals.h"
#include "kernels/cpu/state.h"

#include <dnnl.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static dnnl_status_t multiply(float *c, size_t ldc, const float *a, size_t lda, const float *b,
                              size_t ldb, int transposed, size_t m, size_t n, size_t depth,
                              float beta)
{
    unsigned mode = denormals_off();
    dnnl_status_t status = dnnl_sgemm('N', transposed ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n,
                                      (dnnl_dim_t)depth, 1.0f, a, (dnnl_dim_t)lda, b,
                                      (dnnl_dim_t)ldb, beta, c, (dnnl_dim_t)ldc);

    denormals_restore(mode);
    return status;
}

/* oneDNN generates the code of its products when they are first used, and writes to address 0 if it
 * gets no memory for it. So it is made to generate everything at once, by products of either kind,
 * while such a write is caught. Nothing of it is used after that. */
static pthread_once_t asked = PTHREAD_ONCE_INIT;
static pthread_t asking;
static sigjmp_buf before;
static int generated;

static void on_fault(int number)
{
    if (pthread_equal(asking, pthread_self()))
        siglongjmp(before, 1);
    signal(number, SIG_DFL); /* of another thread, for another reason: raise it again */
}

static void ask(void)
{
    enum { LARGE = 64, SMALL = 3, FAULTS = 2 };
    static const int faults[FAULTS] = {SIGSEGV, SIGABRT /* of its C++ library */};
    static float operand[LARGE * LARGE], product[LARGE * LARGE];
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK}, kept[FAULTS];
    volatile int done = 1;
    asking = pthread_self();
    for (int i = 0; i < FAULTS; i++)
        sigaction(faults[i], &action, &kept[i]);
    if (sigsetjmp(before, 1) == 0) {
        for (int i = 0; i < 8; i++) {
            size_t side = i & 4 ? SMALL : LARGE;
            if (multiply(product, side, operand, side, operand, side, i & 1, side, side, side,
                         i & 2 ? 1.0f : 0.0f) != dnnl_success)
                done = 0;
        }
    } else {
        done = 0;
    }
    for (int i = 0; i < FAULTS; i++)
        sigaction(faults[i], &kept[i], NULL);
    generated = done;
}

void cpu_multiply(struct kernels *k, float *c, size_t ldc, const float *a, size_t lda,
                  const float *b, size_t ldb, int transposed, size_t m, size_t n, size_t depth,
                  float beta)
{
    /* Inside an active parallel region oneDNN starts no threads. It does not count a team of one (a
     * limit on threads, dynamic teams, no active levels) as such: it would then divide the product
     * by the threads that might be available, and if fewer are granted oneDNN 2.6 omits their
     * parts. */
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    pthread_once(&asked, ask);
    dnnl_status_t status = generated
                               ? multiply(c, ldc, a, lda, b, ldb, transposed, m, n, depth, beta)
                               : dnnl_success;
    omp_set_num_threads(threads);
    if (!generated)
        kernels_keep_error(k, "oneDNN: the code of its products cannot be made (expected some "
                              "megabytes of memory for it, which may "
                              "be executed)");
    else if (status != dnnl_success)
        kernels_keep_error(k, "oneDNN: a product [%zu, %zu] x [%zu, %zu] failed (status %d)", m,
                           depth, depth, n, (int)status);
}

size_t cpu_operands_bytes(struct kernels *k)
{
    return cpu_state(k)->rounds ? (size_t)omp_get_max_threads() * CPU_OPERANDS * sizeof(float) : 0;
}

int cpu_operands(struct kernels *k)
{
    struct cpu_state *s = cpu_state(k);
    size_t bytes = cpu_operands_bytes(k);
    void *memory;
    if (!bytes || omp_get_max_threads() <= s->operand_threads)
        return 0;
    free(s->operands);
    s->operands = NULL;
    s->operand_threads = 0;
    if (posix_memalign(&memory, 64, bytes))
        return kernels_keep_error(k, "out of memory (%zu bytes for rounded operands)", bytes);
    s->operands = memory;
    s->operand_threads = omp_get_max_threads();
    return 0;
}

float *cpu_operands_own(struct kernels *k)
{
    struct cpu_state *s = cpu_state(k);
    return s->rounds ? s->operands + (size_t)omp_get_thread_num() * CPU_OPERANDS : NULL;
}

void cpu_factor(struct kernels *k, float *to, size_t apart, const float *x, size_t count,
                enum cpu_side side)
{
    const struct cpu_state *s = cpu_state(k);
    if (s->terms == 1) {
        s->vector->round_bf16(to, x, count);
        return;
    }
    s->vector->split_bf16(to, to + (side == CPU_LEFT ? 2 : 1) * apart, x, count);
    memcpy(to + (side == CPU_LEFT ? 1 : 2) * apart, to, count * sizeof *to);
}

/* The terms of from[rows, width], `ld` floats apart, one behind the other in each row of `to`. */
static void factor_rows(struct kernels *k, float *to, const float *from, size_t ld, size_t rows,
                        size_t width, enum cpu_side side)
{
    for (size_t r = 0; r < rows; r++)
        cpu_factor(k, to + r * (size_t)cpu_state(k)->terms * width, width, from + r * ld, width,
                   side);
}

void cpu_multiply_operands(struct kernels *k, float *c, size_t ldc, const float *a, size_t lda,
                           const float *b, size_t ldb, int transposed, size_t m, size_t n,
                           size_t depth, int accumulate)
{
    const struct cpu_state *s = cpu_state(k);
    float *left = cpu_operands_own(k), *right, beta = accumulate ? 1.0f : 0.0f;
    size_t terms = (size_t)s->terms;
    if (!left) {
        cpu_multiply(k, c, ldc, a, lda, b, ldb, transposed, m, n, depth, beta);
        return;
    }
    if (s->products->multiply_bf16) {
        s->products->multiply_bf16(c, ldc, a, lda, b, ldb, transposed, m, n, depth, accumulate,
                                   s->terms, left);
        return;
    }
    right = left + (size_t)CPU_OPERAND_ROWS * CPU_OPERAND_DEPTH;
    for (size_t row = 0, rows; row < m; row += rows) {
        rows = smaller(m - row, CPU_OPERAND_ROWS);
        for (size_t at = 0, some; at < depth; at += some) {
            some = smaller(depth - at, CPU_OPERAND_DEPTH / terms);
            factor_rows(k, left, a + row * lda + at, lda, rows, some, CPU_LEFT);
            for (size_t column = 0, columns; column < n; column += columns) {
                columns = smaller(n - column, CPU_OPERAND_COLUMNS);
                if (transposed)
                    factor_rows(k, right, b + column * ldb + at, ldb, columns, some, CPU_RIGHT);
                else
                    for (size_t i = 0; i < some; i++) /* its terms are rows */
                        cpu_factor(k, right + i * columns, some * columns,
                                   b + (at + i) * ldb + column, columns, CPU_RIGHT);
                cpu_multiply(k, c + row * ldc + column, ldc, left, terms * some, right,
                             transposed ? terms * some : columns, transposed, rows, columns,
                             terms * some, at ? 1.0f : beta);
            }
        }
    }
}

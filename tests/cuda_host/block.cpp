/* One block of a grid: its threads as fibers, barriers, warp operations. See cuda_runtime.h. */
#include "tests/cuda_host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace {

#ifdef FIBER_ASAN
const size_t STACK = 512 << 10;
#else
const size_t STACK = 128 << 10;
#endif

enum wait { RUNNING, AT_BARRIER, AT_WARP, DONE };

/* What a lane brings to an operation of its warp, and takes back. */
struct slot {
    const char *operation; /* identity by address */
    unsigned mask;
    uint32_t in[10];
    uint32_t out[4];
    const void *row;
    int number;
};

struct copy {
    void *to;
    const void *from;
    int bytes, valid, group;
};

struct fiber {
    void *stack; /* lowest address */
#ifdef __x86_64__
    void *sp;
#else
    ucontext_t context;
#endif
    enum wait wait;
    uint3 index;
    const char *barrier;
    int condition;
    struct slot slot;
    std::vector<copy> copies; /* cp.async under way */
    int group;                /* of the next cp.async */
#ifdef FIBER_ASAN
    void *fake;
#endif
};

fiber fibers[1024];
int count, current;
const std::function<void()> *body;
unsigned char *shared;
uint64_t random_state;
int shuffled;

#ifdef __x86_64__
void *scheduler_sp;
extern "C" void host_fiber_switch(void **save, void *to);
/* Saves what a call preserves on the old stack, takes it from the new one. */
asm(".text\n.globl host_fiber_switch\n.hidden host_fiber_switch\n.type host_fiber_switch,@function\nhost_fiber_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size host_fiber_switch,.-host_fiber_switch\n");
#else
ucontext_t scheduler_context;
#endif
#ifdef FIBER_ASAN
void *scheduler_fake;
const void *scheduler_stack;
size_t scheduler_size;
#endif

[[noreturn]] void die(const char *what)
{
    fprintf(stderr, "cuda stand-in: %s (block %u,%u,%u, thread %u,%u,%u)\n", what, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
    abort();
}

uint64_t next_random(void)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return random_state;
}

/* Back to the scheduler, in state `wait`. */
void leave(enum wait wait)
{
    fiber *f = &fibers[current];
    f->wait = wait;
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&f->fake, scheduler_stack, scheduler_size);
#endif
#ifdef __x86_64__
    host_fiber_switch(&f->sp, scheduler_sp);
#else
    swapcontext(&f->context, &scheduler_context);
#endif
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(f->fake, NULL, NULL);
#endif
}

void fiber_main(void)
{
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_size);
#endif
    for (;;) { /* one turn for each block */
        (*body)();
        if (!fibers[current].copies.empty())
            die("a thread ends with cp.async under way");
        leave(DONE);
    }
}

void enter(int i)
{
    fiber *f = &fibers[i];
    current = i;
    threadIdx = f->index;
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&scheduler_fake, f->stack, STACK);
#endif
#ifdef __x86_64__
    host_fiber_switch(&scheduler_sp, f->sp);
#else
    swapcontext(&scheduler_context, &f->context);
#endif
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
#endif
}

/* A stack and a first frame for a thread that has none. */
void make_stack(fiber *f)
{
    char *memory = (char *)mmap(NULL, STACK + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_NONE) != 0)
        die("no memory for a thread's stack");
    f->stack = memory + 4096;
#ifdef __x86_64__
    void **top = (void **)((char *)f->stack + STACK) - 2; /* aligned as a call would have it */
    top[0] = (void *)fiber_main;
    f->sp = top - 6; /* zeros for the registers */
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = NULL;
    makecontext(&f->context, fiber_main, 0);
#endif
}

void prepare(int i)
{
    fiber *f = &fibers[i];
    if (!f->stack)
        make_stack(f);
    f->wait = RUNNING;
    f->index = {(unsigned)i % blockDim.x, (unsigned)i / blockDim.x % blockDim.y, (unsigned)i / blockDim.x / blockDim.y};
    f->group = 0;
}

/* Lets everyone go when all threads that still run stand at the same barrier. */
int release_barrier(void)
{
    int waiting = 0, any = 0, all = 1;
    const char *barrier = NULL;
    for (int i = 0; i < count; i++) {
        if (fibers[i].wait == DONE)
            continue;
        if (fibers[i].wait != AT_BARRIER)
            return 0;
        if (barrier && fibers[i].barrier != barrier)
            die("threads wait at barriers of different kinds");
        barrier = fibers[i].barrier;
        waiting++;
        any |= fibers[i].condition;
        all &= fibers[i].condition;
    }
    for (int i = 0; i < count; i++)
        if (fibers[i].wait == AT_BARRIER) {
            fibers[i].wait = RUNNING;
            fibers[i].condition = barrier[0] == 'o' ? any : all;
        }
    return waiting;
}

int at_barrier(const char *barrier, int condition)
{
    fibers[current].barrier = barrier;
    fibers[current].condition = condition != 0;
    leave(AT_BARRIER);
    return fibers[current].condition;
}

/* The lanes in the caller's mask meet; the last to come does `work` for all of them. */
void meet(const char *operation, unsigned mask, void (*work)(fiber *lanes, unsigned mask))
{
    int lane = current % 32, first = current - lane;
    fiber *lanes = &fibers[first];
    if (first + 32 > count)
        die("a warp operation in a block that is no multiple of 32 threads");
    if (!(mask >> lane & 1))
        die("a warp operation whose mask lacks the calling lane");
    lanes[lane].slot.operation = operation;
    lanes[lane].slot.mask = mask;
    lanes[lane].wait = AT_WARP;
    for (int i = 0; i < 32; i++) {
        if (!(mask >> i & 1))
            continue;
        if (lanes[i].wait == DONE)
            die("a warp operation waits for a lane that has ended");
        if (lanes[i].wait != AT_WARP) {
            leave(AT_WARP);
            return;
        }
        if (lanes[i].slot.operation != operation || lanes[i].slot.mask != mask)
            die("lanes of a warp meet at different operations or with different masks");
    }
    if (work)
        work(lanes, mask);
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1)
            lanes[i].wait = RUNNING;
}

float from_bf16(uint32_t bits)
{
    return __uint_as_float(bits << 16);
}

void do_shuffle(fiber *lanes, unsigned mask)
{
    for (int i = 0; i < 32; i++) {
        slot *s = &lanes[i].slot;
        if (!(mask >> i & 1))
            continue;
        int width = s->number, by = (int)s->in[3], base = i / width * width, from = i;
        switch (s->in[2]) {
        case 'i': from = base + (by & (width - 1)); break;
        case 'x': from = (i ^ by) < base + width ? i ^ by : i; break;
        case 'd': from = i + by < base + width ? i + by : i; break;
        default: from = i - by >= base ? i - by : i;
        }
        if (!(mask >> from & 1))
            die("a shuffle from a lane outside its mask");
        s->out[0] = lanes[from].slot.in[0];
        s->out[1] = lanes[from].slot.in[1];
    }
}

void do_ballot(fiber *lanes, unsigned mask)
{
    unsigned votes = 0;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1 && lanes[i].slot.number)
            votes |= 1u << i;
    for (int i = 0; i < 32; i++)
        lanes[i].slot.out[0] = votes;
}

/* D[16][8] += A[16][depth] B[depth][8], products exact, summed in double, rounded once. */
void multiply(fiber *lanes, const double (*a)[16], const double (*b)[8], int depth)
{
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 4; j++) {
            int row = i / 4 + 8 * (j / 2), column = 2 * (i % 4) + j % 2;
            double sum = __uint_as_float(lanes[i].slot.in[6 + j]);
            for (int k = 0; k < depth; k++)
                sum += a[row][k] * b[k][column];
            lanes[i].slot.out[j] = __float_as_uint((float)sum);
        }
}

void do_mma_bf16(fiber *lanes, unsigned)
{
    double a[16][16], b[16][8];
    for (int i = 0; i < 32; i++) {
        const uint32_t *in = lanes[i].slot.in;
        int g = i / 4, t = i % 4;
        for (int half = 0; half < 2; half++) {
            for (int j = 0; j < 4; j++)
                a[g + 8 * (j % 2)][2 * t + 8 * (j / 2) + half] = from_bf16(in[j] >> 16 * half & 0xffff);
            for (int j = 0; j < 2; j++)
                b[2 * t + 8 * j + half][g] = from_bf16(in[4 + j] >> 16 * half & 0xffff);
        }
    }
    multiply(lanes, a, b, 16);
}

void do_mma_tf32(fiber *lanes, unsigned)
{
    double a[16][16], b[16][8];
    for (int i = 0; i < 32; i++) {
        const uint32_t *in = lanes[i].slot.in;
        int g = i / 4, t = i % 4;
        for (int j = 0; j < 4; j++)
            a[g + 8 * (j % 2)][t + 4 * (j / 2)] = __uint_as_float(in[j] & ~0x1fffu);
        for (int j = 0; j < 2; j++)
            b[t + 4 * j][g] = __uint_as_float(in[4 + j] & ~0x1fffu);
    }
    multiply(lanes, a, b, 8);
}

void do_ldmatrix(fiber *lanes, unsigned)
{
    int matrices = lanes[0].slot.number & 7, transposed = lanes[0].slot.number >> 3;
    for (int i = 0; i < 32; i++)
        for (int m = 0; m < matrices; m++) {
            uint16_t pair[2];
            for (int half = 0; half < 2; half++) {
                int row = transposed ? 2 * (i % 4) + half : i / 4, column = transposed ? i / 4 : 2 * (i % 4) + half;
                memcpy(&pair[half], (const char *)lanes[8 * m + row].slot.row + 2 * column, 2);
            }
            lanes[i].slot.out[m] = pair[0] | (uint32_t)pair[1] << 16;
        }
}

void finish_copies(fiber *f, int first_left)
{
    size_t done = 0;
    while (done < f->copies.size() && f->copies[done].group < first_left) {
        const copy &c = f->copies[done++];
        if (c.valid)
            memcpy(c.to, c.from, (size_t)c.bytes);
        else
            memset(c.to, 0, (size_t)c.bytes);
    }
    f->copies.erase(f->copies.begin(), f->copies.begin() + (long)done);
}

} // namespace

void host_run_block(dim3 block, unsigned char *shared_memory, uint64_t seed, const std::function<void()> &thread)
{
    blockDim = block;
    count = (int)(block.x * block.y * block.z);
    shared = shared_memory;
    body = &thread;
    shuffled = seed != 0;
    random_state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < count; i++)
        prepare(i);
    for (int left = count; left > 0;) {
        /* a pass over all threads in an order i -> (start + i * step) mod count; step and count have no common factor */
        int ran = 0, start = 0, step = 1;
        if (shuffled) {
            static const int primes[] = {1, 7, 13, 37, 61, 101, 211, 331, 503, 769, 1021};
            start = (int)(next_random() % (uint64_t)count);
            do
                step = primes[next_random() % (sizeof primes / sizeof *primes)];
            while (count % step == 0 && step != 1);
        }
        for (int i = 0; i < count; i++) {
            int at = (int)(((long)start + (long)i * step) % count);
            if (fibers[at].wait == RUNNING) {
                enter(at);
                ran++;
                left -= fibers[at].wait == DONE;
            }
        }
        if (!ran && left > 0 && !release_barrier())
            die("threads wait for each other: a barrier or warp operation that not all of them reach");
    }
}

unsigned char *host_shared_memory(void)
{
    return shared;
}

void __syncthreads(void)
{
    at_barrier("barrier", 0);
}

int __syncthreads_or(int condition)
{
    return at_barrier("or", condition);
}

int __syncthreads_and(int condition)
{
    return at_barrier("and", condition);
}

void __threadfence(void)
{
}

void __syncwarp(unsigned mask)
{
    meet("__syncwarp", mask, NULL);
}

unsigned __ballot_sync(unsigned mask, int condition)
{
    slot *s = &fibers[current].slot;
    s->number = condition != 0;
    meet("ballot", mask, do_ballot);
    return s->out[0];
}

int __any_sync(unsigned mask, int condition)
{
    return __ballot_sync(mask, condition) != 0;
}

int __all_sync(unsigned mask, int condition)
{
    return __ballot_sync(mask, !condition) == 0;
}

uint64_t host_shuffle(unsigned mask, uint64_t value, char kind, int from, int width)
{
    slot *s = &fibers[current].slot;
    s->in[0] = (uint32_t)value;
    s->in[1] = (uint32_t)(value >> 32);
    s->in[2] = (unsigned char)kind;
    s->in[3] = (uint32_t)from;
    s->number = width;
    meet("shuffle", mask, do_shuffle);
    return s->out[0] | (uint64_t)s->out[1] << 32;
}

uint16_t host_bf16_bits(float x)
{
    uint32_t bits = __float_as_uint(x);
    if (x != x)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint32_t host_tf32_bits(float x)
{
    uint32_t bits = __float_as_uint(x);
    return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}

static void mma(const char *operation, float d[4], const uint32_t a[4], const uint32_t b[2], void (*work)(fiber *, unsigned))
{
    slot *s = &fibers[current].slot;
    memcpy(s->in, a, 16);
    memcpy(s->in + 4, b, 8);
    memcpy(s->in + 6, d, 16);
    meet(operation, 0xffffffffu, work);
    memcpy(d, s->out, 16);
}

void host_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    mma("mma bf16", d, a, b, do_mma_bf16);
}

void host_mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    mma("mma tf32", d, a, b, do_mma_tf32);
}

void host_ldmatrix(uint32_t *r, const void *row, int matrices, int transposed)
{
    slot *s = &fibers[current].slot;
    s->row = row;
    s->number = matrices | transposed << 3;
    if (current % 32 < 8 * matrices && (uintptr_t)row % 16)
        die("ldmatrix from an address that is no multiple of 16");
    meet("ldmatrix", 0xffffffffu, do_ldmatrix);
    memcpy(r, s->out, (size_t)matrices * 4);
}

void host_cp_async(void *to, const void *from, int bytes, int valid)
{
    fiber *f = &fibers[current];
    if ((uintptr_t)to % (unsigned)bytes || (uintptr_t)from % (unsigned)bytes)
        die("cp.async with an address that is no multiple of its size");
    f->copies.push_back({to, from, bytes, valid, f->group});
    if (shuffled && next_random() % 2) { /* it may also be done at once */
        finish_copies(f, f->group + 1);
        return;
    }
}

void host_cp_async_commit(void)
{
    fibers[current].group++;
}

void host_cp_async_wait(int groups)
{
    fiber *f = &fibers[current];
    finish_copies(f, f->group - groups);
}

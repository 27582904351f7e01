/* One block of a grid: its threads as fibers, barriers, warp operations. See cuda_runtime.h. */
#include "tests/cuda_host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace
{

#ifdef __SANITIZE_ADDRESS__
const size_t STACK = 512 << 10;
#else
const size_t STACK = 128 << 10;
#endif

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
    int valid, group;
    const void *pc; /* of its start */
    int done; /* at once; for the thread it is under way until it has waited */
};

struct fiber {
    void *stack; /* lowest address */
#ifdef __x86_64__
    void *sp;
#else
    ucontext_t context;
#endif
    uint3 index;
    struct slot slot;
    std::vector<copy> copies; /* cp.async under way */
    int group; /* of the next cp.async */
#ifdef __SANITIZE_ADDRESS__
    void *fake;
#endif
};

enum { MOST = 1024 };
fiber fibers[MOST];
int count, current;
/* A bit a lane, a word a warp: threads that can run, that stand at the block's barrier, at an
 * operation of their warp, or have ended. */
unsigned ready[MOST / 32], at_barrier[MOST / 32], at_meeting[MOST / 32], ended[MOST / 32];
int barrier_count, ended_count, barrier_any, barrier_all, released_any, released_all;
const char *barrier_kind;
const std::function<void()> *body;
unsigned char *shared;
uint64_t random_state, stays;
int shuffled;

#ifdef __x86_64__
void *scheduler_sp;
extern "C" void host_fiber_switch(void **save, void *to);
/* Saves what a call preserves on the old stack, takes it from the new one. */
asm(".text\n.globl host_fiber_switch\n.hidden host_fiber_switch\n.type "
    "host_fiber_switch,@function\nhost_fiber_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size host_fiber_switch,.-host_fiber_switch\n");
#else
ucontext_t scheduler_context;
#endif
#ifdef __SANITIZE_ADDRESS__
void *scheduler_fake;
void *scheduler_stack;
size_t scheduler_size;
#endif

[[noreturn]] void die(const char *what)
{
    fprintf(stderr, "cuda stand-in: %s (block %u,%u,%u, thread %u,%u,%u)\n", what, blockIdx.x,
            blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
    abort();
}

uint64_t next_random(void)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return random_state;
}

/* A thread that can run: of the present warp where that goes, so that caches stay warm; with a seed
 * any of it, and of another in one turn of `stays`. -1: none. */
int pick(void)
{
    int warps = (count + 31) / 32, warp = current / 32;
    uint64_t random = shuffled ? next_random() : 0;
    if (shuffled && random % stays == 0)
        warp = (int)((random >> 32) % (unsigned)warps);
    for (int i = 0; i < warps; i++, warp = warp + 1 < warps ? warp + 1 : 0)
        if (ready[warp]) {
            int turn = (int)(random >> 8 & 31);
            unsigned turned = turn ? ready[warp] >> turn | ready[warp] << (32 - turn) : ready[warp];
            return 32 * warp + (__builtin_ctz(turned) + turn) % 32;
        }
    return -1;
}

/* Lets everyone at the barrier go when all threads that still run stand there. */
void release_barrier(void)
{
    if (!barrier_count || barrier_count + ended_count < count)
        return;
    for (int warp = 0; warp < (count + 31) / 32; warp++) {
        ready[warp] |= at_barrier[warp];
        at_barrier[warp] = 0;
    }
    barrier_count = 0;
    race_barrier();
    released_any =
        barrier_any; /* until all have taken it: no one gets through the next barrier before */
    released_all = barrier_all;
}

/* From the running fiber (or the scheduler, NULL) to another (or back to the scheduler, -1). */
void switch_to(fiber *from, int to)
{
    fiber *f = to < 0 ? NULL : &fibers[to];
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(from ? &from->fake : &scheduler_fake,
                                   f ? f->stack : scheduler_stack, f ? STACK : scheduler_size);
#endif
    if (f) {
        current = to;
        threadIdx = f->index;
    }
#ifdef __x86_64__
    host_fiber_switch(from ? &from->sp : &scheduler_sp, f ? f->sp : scheduler_sp);
#else
    swapcontext(from ? &from->context : &scheduler_context, f ? &f->context : &scheduler_context);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from ? from->fake : scheduler_fake, NULL, NULL);
#endif
}

/* The running thread cannot go on: the next one that can does, the scheduler when all have ended.
 * Returns when this one can. */
void yield(void)
{
    int self = current, next;
    ready[self / 32] &= ~(1u << self % 32);
    release_barrier();
    next = pick();
    if (next < 0 && ended_count < count)
        die("threads wait for each other: a barrier or warp operation that not all of them reach");
    if (next != self)
        switch_to(&fibers[self], next);
}

void fiber_main(void)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
    for (;;) { /* one turn for each block */
        (*body)();
        if (!fibers[current].copies.empty())
            die("a thread ends with cp.async under way");
        ended[current / 32] |= 1u << current % 32;
        ended_count++;
        yield();
    }
}

/* A stack and a first frame for a thread that has none. */
void make_stack(fiber *f)
{
    char *memory = (char *)mmap(NULL, STACK + 4096, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
    f->index = {(unsigned)i % blockDim.x, (unsigned)i / blockDim.x % blockDim.y,
                (unsigned)i / blockDim.x / blockDim.y};
    f->group = 0;
}

/* Waits for all threads; 'o' any condition, 'a' all of them. */
int barrier(const char *kind, int condition)
{
    if (!barrier_count) {
        barrier_kind = kind;
        barrier_any = 0, barrier_all = 1;
    } else if (barrier_kind != kind)
        die("threads wait at barriers of different kinds");
    barrier_any |= condition != 0;
    barrier_all &= condition != 0;
    at_barrier[current / 32] |= 1u << current % 32;
    barrier_count++;
    yield();
    return kind[0] == 'o' ? released_any : released_all;
}

/* The lanes in the caller's mask meet; the last to come does `work` for all of them. */
void meet(const char *operation, unsigned mask, void (*work)(fiber *lanes, unsigned mask))
{
    int warp = current / 32, lane = current % 32;
    fiber *lanes = &fibers[32 * warp];
    if (32 * warp + 32 > count)
        die("a warp operation in a block that is no multiple of 32 threads");
    if (!(mask >> lane & 1))
        die("a warp operation whose mask lacks the calling lane");
    if (mask & ended[warp])
        die("a warp operation waits for a lane that has ended");
    lanes[lane].slot.operation = operation;
    lanes[lane].slot.mask = mask;
    at_meeting[warp] |= 1u << lane;
    if (mask & ~at_meeting[warp]) {
        yield();
        return;
    }
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1 && (lanes[i].slot.operation != operation || lanes[i].slot.mask != mask))
            die("lanes of a warp meet at different operations or with different masks");
    if (work)
        work(lanes, mask);
    else if (mask == 0xffffffffu)
        race_syncwarp((unsigned)current);
    at_meeting[warp] &= ~mask;
    ready[warp] |= mask;
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
    double d[16][8];
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 4; j++)
            d[i / 4 + 8 * (j / 2)][2 * (i % 4) + j % 2] = __uint_as_float(lanes[i].slot.in[6 + j]);
    for (int row = 0; row < 16; row++)
        for (int k = 0; k < depth; k++)
            for (int column = 0; column < 8; column++)
                d[row][column] += a[row][k] * b[k][column];
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 4; j++)
            lanes[i].slot.out[j] = __float_as_uint(
                (float)d[i / 4 + 8 * (j / 2)][2 * (i % 4) + j % 2]);
}

void do_mma_bf16(fiber *lanes, unsigned)
{
    double a[16][16], b[16][8];
    for (int i = 0; i < 32; i++) {
        const uint32_t *in = lanes[i].slot.in;
        int g = i / 4, t = i % 4;
        for (int half = 0; half < 2; half++) {
            for (int j = 0; j < 4; j++)
                a[g + 8 * (j % 2)][2 * t + 8 * (j / 2) + half] = from_bf16(in[j] >> 16 * half &
                                                                           0xffff);
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
    int transposed = lanes[0].slot.number;
    for (int i = 0; i < 32; i++)
        for (int m = 0; m < 4; m++) {
            uint16_t pair[2];
            for (int half = 0; half < 2; half++) {
                int row = transposed ? 2 * (i % 4) + half : i / 4,
                    column = transposed ? i / 4 : 2 * (i % 4) + half;
                memcpy(&pair[half], (const char *)lanes[8 * m + row].slot.row + 2 * column, 2);
            }
            lanes[i].slot.out[m] = pair[0] | (uint32_t)pair[1] << 16;
        }
}

void do_copy(copy *c)
{
    if (c->done)
        return;
    c->done = 1;
    if (c->valid)
        memcpy(c->to, c->from, 16);
    else
        memset(c->to, 0, 16);
}

void finish_copies(fiber *f, int first_left)
{
    size_t done = 0;
    while (done < f->copies.size() && f->copies[done].group < first_left) {
        copy *c = &f->copies[done++];
        do_copy(c);
        race_copy_ends(c->to, 16, c->pc);
    }
    f->copies.erase(f->copies.begin(), f->copies.begin() + (long)done);
}

} // namespace

void host_run_block(dim3 block, unsigned char *shared_memory, uint64_t seed,
                    const std::function<void()> &thread)
{
    blockDim = block;
    count = (int)(block.x * block.y * block.z);
    shared = shared_memory;
    body = &thread;
    shuffled = seed != 0;
    random_state = seed * 0x9e3779b97f4a7c15u + 1;
    stays = next_random() >> 32 & 1
                ? 8
                : 1024; /* in half of the blocks a warp comes to a barrier long before another */
    for (int i = 0; i < count; i++)
        prepare(i);
#ifdef __SANITIZE_ADDRESS__
    pthread_attr_t attributes;
    if (!scheduler_stack && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &scheduler_stack, &scheduler_size);
        pthread_attr_destroy(&attributes);
    }
#endif
    barrier_count = ended_count = current = 0;
    for (int warp = 0; warp < (count + 31) / 32; warp++) {
        ready[warp] = count - 32 * warp < 32 ? (1u << (count - 32 * warp)) - 1 : ~0u;
        at_barrier[warp] = at_meeting[warp] = ended[warp] = 0;
    }
    switch_to(NULL, pick());
}

unsigned char *host_shared_memory(void)
{
    return shared;
}

void __syncthreads(void)
{
    barrier("barrier", 0);
}

int __syncthreads_or(int condition)
{
    return barrier("or", condition);
}

int __syncthreads_and(int condition)
{
    return barrier("and", condition);
}

void __threadfence(void) {}

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

static void mma(const char *operation, float d[4], const uint32_t a[4], const uint32_t b[2],
                void (*work)(fiber *, unsigned))
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

void host_ldmatrix_x4(uint32_t r[4], const void *row, int transposed)
{
    slot *s = &fibers[current].slot;
    s->row = row;
    s->number = transposed;
    if ((uintptr_t)row % 16)
        die("ldmatrix from an address that is no multiple of 16");
    race_read(row, 16, __builtin_return_address(0));
    meet("ldmatrix", 0xffffffffu, do_ldmatrix);
    memcpy(r, s->out, 16);
}

void host_cp_async_16(void *to, const void *from, int valid)
{
    fiber *f = &fibers[current];
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16)
        die("cp.async with an address that is no multiple of its size");
    f->copies.push_back({to, from, valid, f->group, __builtin_return_address(0), 0});
    if (valid)
        race_read(from, 16, __builtin_return_address(0));
    race_copy_begins(to, 16, __builtin_return_address(0));
    if (shuffled && next_random() % 2) /* it may also be done at once, with all before it */
        for (copy &c : f->copies)
            do_copy(&c);
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

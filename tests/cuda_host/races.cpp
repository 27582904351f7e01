/* What `make check-cuda-races` adds to the stand-in: two accesses of one place, one of them a
 * write, that nothing orders.
 *
 * The .cu files are compiled with -fsanitize=thread, which makes the compiler call
 * __tsan_read4(address) and its like before each access; here they are, in place of the sanitizer's
 * library, since what orders the threads of a GPU is known exactly and needs no clocks:
 *
 *     threads of a block: a barrier that all reach. Within a warp also __syncwarp. Shuffles, votes,
 * mma and ldmatrix order nothing, as PTX has it blocks of a grid: nothing kernels, copies and
 * products: the order of a stream, events, and the host's own waiting cp.async: from its start to
 * the thread's wait nobody may touch the place it writes, behind that it is a write of that thread
 *
 * So a missing barrier is seen in whatever order the fibers ran, and whether or not the numbers
 * come out right. Each pair of lines is said once, and the program ends with 66: at its end, or,
 * with REACH_CUDA_HOST_RACES=first, at once. Of each place the last write is kept, and its readers
 * since the last barrier: their warps, and the lanes of one warp since its last __syncwarp, which
 * is all that a later write has to know. */
#include "tests/cuda_host/host.h"

#include <dlfcn.h>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace
{

struct write_record {
    uint32_t operation, epoch, sync; /* operation 0: never written */
    uint16_t thread, pending; /* pending: by a cp.async that is under way */
    const void *pc;
};

struct read_record {
    uint32_t operation, epoch, sync;
    uint32_t warps, lanes; /* lanes: of `warp`, since its __syncwarp number `sync` */
    uint16_t warp, other_blocks; /* earlier blocks of the same grid read it too */
    const void *pc;
};

struct cell {
    struct write_record write;
    struct read_record read;
};

enum {
    SHARED_MOST = 1 << 18,
    PAGE = 4096,
    GRANULE = 2, /* bytes of device memory that have one cell; of shared memory one each */
    CACHED = 1 << 12,
    REPORTS = 100,
    EXIT_RACES = 66
};

/* What a stream's operation comes behind: that many operations of each stream, by number. */
struct operation {
    int stream;
    uint64_t number;
    struct host_clock knows;
};

std::vector<operation> operations(1);
uint32_t present; /* the last of them, under way */
uint32_t epoch; /* of all: goes on with each block and each barrier */
uint32_t first_of_block; /* epochs below it are of other blocks */
uint32_t syncs, sync_of_warp[32];
int in_block;
const char *dynamic_shared, *static_shared;
size_t dynamic_bytes, static_bytes;
struct cell shared_cells[2][SHARED_MOST]; /* dynamic, static */
std::unordered_map<uintptr_t, struct cell *> pages; /* of device memory; NULL: not touched yet */
struct {
    uintptr_t page;
    struct cell *cells;
} cache[CACHED];
std::set<std::pair<const void *, const void *>> reported; /* pairs of instructions */
std::set<std::string> said; /* and of lines */

/* FILE:LINE of the call before `pc`; with what it was inlined into. */
std::string place_of(const void *pc)
{
    Dl_info module;
    char line[600];
    std::string place;
    if (!pc)
        return "a copy or product";
    if (!dladdr(pc, &module))
        return "?";
    snprintf(line, sizeof line, "addr2line -i -e '%s' %#lx 2>/dev/null", module.dli_fname,
             (unsigned long)((const char *)pc - 1 - (const char *)module.dli_fbase));
    FILE *from = popen(line, "r");
    while (from && fgets(line, sizeof line, from)) {
        const char *name = strstr(line, "kernels/cuda/");
        line[strcspn(line, " \n")] = 0; /* without the discriminator */
        if (name)
            place += (place.empty() ? "" : " < ") + std::string(name);
    }
    if (from)
        pclose(from);
    return place.empty() ? "?" : place;
}

void report(const char *what, const char *where, const char *before, const void *pc,
            const void *pc_before, unsigned thread)
{
    if (reported.size() >= REPORTS || !reported.insert({pc, pc_before}).second)
        return;
    std::string text = std::string(what) + " at " + place_of(pc) + "; " + before + " at " +
                       place_of(pc_before);
    if (said.insert(text).second)
        fprintf(stderr, "cuda stand-in: race in %s memory: thread %u of block %u,%u,%u %s\n", where,
                thread, blockIdx.x, blockIdx.y, blockIdx.z, text.c_str());
    const char *first = getenv("REACH_CUDA_HOST_RACES");
    if (first && !strcmp(first, "first"))
        _exit(EXIT_RACES);
}

/* 1 if an operation other than the present one is over before this begins. */
int is_over(uint32_t before)
{
    const operation &now = operations.back(), &then = operations[before];
    return then.stream == now.stream || now.knows.done[then.stream] >= then.number;
}

/* What stands against an access behind a write; NULL: nothing. */
const char *against_write(const write_record &w, unsigned thread, int is_shared)
{
    if (!w.operation)
        return NULL;
    if (w.operation != present)
        return is_shared || is_over(w.operation) ? NULL
                                                 : "written by an operation of another stream";
    if (w.epoch < first_of_block)
        return is_shared ? NULL : "written by another block";
    if (w.pending)
        return "a cp.async under way writes it, started";
    if (w.epoch != epoch || w.thread == thread)
        return NULL;
    if (w.thread / 32 != thread / 32)
        return "written by another warp since the last barrier,";
    return w.sync == sync_of_warp[thread / 32]
               ? "written by another lane since the last __syncwarp,"
               : NULL;
}

/* The same of a write behind reads. */
const char *against_reads(const read_record &r, unsigned thread, int is_shared)
{
    if (!r.operation)
        return NULL;
    if (r.operation != present)
        return is_shared || is_over(r.operation) ? NULL : "read by an operation of another stream";
    if (!is_shared && (r.other_blocks || r.epoch < first_of_block))
        return "read by another block";
    if (r.epoch != epoch)
        return NULL;
    if (r.warps & ~(1u << thread / 32))
        return "read by another warp since the last barrier,";
    return r.sync == sync_of_warp[thread / 32] && r.lanes & ~(1u << thread % 32)
               ? "read by another lane since the last __syncwarp,"
               : NULL;
}

void note_read(read_record &r, unsigned thread, const void *pc)
{
    uint32_t sync = sync_of_warp[thread / 32];
    if (r.operation != present || r.epoch != epoch) {
        uint16_t others = r.operation == present && (r.other_blocks || r.epoch < first_of_block);
        r = {present, epoch, sync, 0, 0, (uint16_t)(thread / 32), others, pc};
    }
    if (r.warp != thread / 32 || r.sync != sync)
        r.warp = (uint16_t)(thread / 32), r.sync = sync, r.lanes = 0;
    r.lanes |= 1u << thread % 32;
    r.warps |= 1u << thread / 32;
    r.pc = pc;
}

enum kind { READ, WRITE, WRITE_PENDING, WRITE_DONE };

void touch(struct cell *c, enum kind kind, unsigned thread, const void *pc, int is_shared)
{
    const char *where = is_shared ? "shared" : "device", *before;
    if (kind != WRITE_DONE && (before = against_write(c->write, thread, is_shared)))
        report(kind == READ ? "reads" : "writes", where, before, pc, c->write.pc, thread);
    if (kind == READ)
        note_read(c->read, thread, pc);
    else {
        if (kind != WRITE_DONE && (before = against_reads(c->read, thread, is_shared)))
            report("writes", where, before, pc, c->read.pc, thread);
        c->write = {
            present, epoch, sync_of_warp[thread / 32], (uint16_t)thread, kind == WRITE_PENDING, pc};
    }
}

/* The cells of the page that `at` lies in; NULL where no device memory is. */
struct cell *cells_of(uintptr_t at)
{
    uintptr_t page = at / PAGE;
    auto &entry = cache[page % CACHED];
    if (entry.page != page) {
        auto found = pages.find(page);
        if (found == pages.end())
            return NULL;
        if (!found->second &&
            !(found->second = (struct cell *)calloc(PAGE / GRANULE, sizeof(struct cell)))) {
            fprintf(stderr, "cuda stand-in: no memory for what was read and written\n");
            abort();
        }
        entry = {page, found->second};
    }
    return entry.cells;
}

void access(const void *memory, size_t bytes, enum kind kind, const void *pc)
{
    const char *at = (const char *)memory;
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (in_block)
        for (int i = 0; i < 2; i++) {
            const char *start = i ? static_shared : dynamic_shared;
            if (at >= start && at + bytes <= start + (i ? static_bytes : dynamic_bytes)) {
                for (size_t j = 0; j < bytes; j++)
                    touch(&shared_cells[i][(size_t)(at - start) + j], kind, thread, pc, 1);
                return;
            }
        }
    else
        thread = 0;
    for (uintptr_t a = (uintptr_t)at / GRANULE * GRANULE, end = (uintptr_t)at + bytes, next;
         a < end; a = next) {
        struct cell *cells = cells_of(a);
        next = a / PAGE * PAGE + PAGE < end ? a / PAGE * PAGE + PAGE : end;
        for (; cells && a < next; a += GRANULE)
            touch(&cells[a % PAGE / GRANULE], kind, thread, pc, 0);
    }
}

} // namespace

void race_operation(int stream, uint64_t number, const struct host_clock *knows)
{
    operations.push_back({stream, number, *knows});
    present = (uint32_t)operations.size() - 1;
    first_of_block = ++epoch;
}

void race_block(const void *dynamic, size_t dynamic_size, const void *fixed, size_t fixed_size)
{
    if (dynamic_size > SHARED_MOST || fixed_size > SHARED_MOST)
        abort();
    dynamic_shared = (const char *)dynamic, dynamic_bytes = dynamic_size;
    static_shared = (const char *)fixed, static_bytes = fixed_size;
    first_of_block = ++epoch;
    in_block = 1;
}

void race_block_end(void)
{
    in_block = 0;
    epoch++;
}

void race_barrier(void)
{
    epoch++;
}

void race_syncwarp(unsigned thread)
{
    sync_of_warp[thread / 32] = ++syncs;
}

void race_read(const void *memory, size_t bytes, const void *pc)
{
    access(memory, bytes, READ, pc);
}

void race_write(const void *memory, size_t bytes, const void *pc)
{
    access(memory, bytes, WRITE, pc);
}

void race_copy_begins(const void *memory, size_t bytes, const void *pc)
{
    access(memory, bytes, WRITE_PENDING, pc);
}

void race_copy_ends(const void *memory, size_t bytes, const void *pc)
{
    access(memory, bytes, WRITE_DONE, pc);
}

void race_allocated(const void *memory, size_t bytes)
{
    for (uintptr_t a = (uintptr_t)memory / GRANULE * GRANULE; a < (uintptr_t)memory + bytes;
         a += GRANULE) {
        struct cell *cells = pages[a / PAGE];
        if (cells)
            cells[a % PAGE / GRANULE] = cell();
        else
            a = a / PAGE * PAGE + PAGE - GRANULE;
    }
}

__attribute__((destructor)) static void end_with_races(void)
{
    if (!reported.empty()) {
        fflush(NULL);
        _exit(EXIT_RACES);
    }
}

/* What the compiler calls. Outside of kernels the host's own accesses are not looked at. */
#define ACCESS(name, bytes, kind) \
    extern "C" void __tsan_##name(const void *at) \
    { \
        if (in_block) \
            access(at, bytes, kind, __builtin_return_address(0)); \
    }
#define ACCESSES(bytes) \
    ACCESS(read##bytes, bytes, READ) \
    ACCESS(write##bytes, bytes, WRITE) \
    ACCESS(unaligned_read##bytes, bytes, READ) \
    ACCESS(unaligned_write##bytes, bytes, WRITE)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
#define RANGE(name, kind) \
    extern "C" void __tsan_##name##_range(const void *at, unsigned long bytes) \
    { \
        if (in_block) \
            access(at, bytes, kind, __builtin_return_address(0)); \
    }
RANGE(read, READ)
RANGE(write, WRITE)
#define NOTHING(name) \
    extern "C" void __tsan_##name(const void *) {}
NOTHING(func_entry)
NOTHING(vptr_read)
extern "C" void __tsan_vptr_update(const void *, const void *) {}
extern "C" void __tsan_func_exit(void) {}
extern "C" void __tsan_init(void) {}

/* Devices, memory, streams and events of the stand-in. See cuda_runtime.h.
 * Kernels that were translated from PTX (ptx.py) are linked into the same library, and then run in
 * place of those of the host's compiler.
 *
 * For tests, the environment: REACH_CUDA_HOST_SEED shuffles threads and blocks (0 or unset: in
 * order); REACH_CUDA_HOST_DEVICES is the number of devices (default 1; -1: a driver that is too
 * old); REACH_CUDA_HOST_MEMORY the bytes of each (default 1 GB); REACH_CUDA_HOST_COPIES=early runs
 * streams with a priority as early as may be; REACH_CUDA_HOST_SHARED the KB of shared memory that a
 * block may have (default 227, as compute capability 9.0; 163: 8.0; 99: 8.6, 8.9 and 12.0).
 * REACH_CUDA_HOST_LAUNCHED=FOLDER adds where each kernel that is launched lies in the library to
 * FOLDER/PROGRAM (launched.sh). And a function that the plug-in exports, `long
 * cuda_host_waits(void)`: how often the host has waited for work that was not done. */
#include "tests/cuda_host/host.h"

#include <deque>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <map>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <vector>

struct host_operation {
    std::function<void()> run;
    cudaStream_t other; /* not NULL: it waits until this stream has done `after` operations, and
                           does nothing else */
    uint64_t after;
    struct host_clock knows; /* what it comes behind */
};

struct host_stream {
    std::deque<host_operation> queue;
    uint64_t enqueued, done; /* operations ever */
    int number;
    struct host_clock knows; /* what its next operation comes behind */
    int urgent; /* has a priority */
    int waiting; /* for another stream: what comes behind must not run */
};

struct host_event {
    cudaStream_t stream; /* NULL: never recorded */
    uint64_t after; /* done once the stream has done so many operations */
    struct host_clock knows; /* what is over then */
};

namespace
{

const size_t SHARED_PLAIN = 48 << 10;

std::vector<cudaStream_t> streams;
struct host_clock host_knows; /* what the host has waited for */
uint64_t operations_of_number[STREAMS_MOST]; /* of the streams that had it before, for the next one
                                                to count on */
std::map<const char *, size_t> device_memory, pinned_memory; /* start, bytes */
std::map<const void *, int> shared_limits;
size_t device_used;
long waits;
char *static_shared;
size_t static_shared_bytes;
cudaError_t last_error = cudaSuccess;

[[noreturn]] void die(const char *what)
{
    fprintf(stderr, "cuda stand-in: %s\n", what);
    abort();
}

long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

size_t shared_most(void)
{
    return (size_t)setting("REACH_CUDA_HOST_SHARED", 227) << 10;
}

size_t device_total(void)
{
    return (size_t)setting("REACH_CUDA_HOST_MEMORY", 1L << 30);
}

cudaError_t keep(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

void learn(struct host_clock *clock, const struct host_clock *other)
{
    for (int i = 0; i < STREAMS_MOST; i++)
        clock->done[i] = other->done[i] > clock->done[i] ? other->done[i] : clock->done[i];
}

/* What is over once the stream has done all that it holds. */
struct host_clock end_of(cudaStream_t s)
{
    struct host_clock clock = s->knows;
    clock.done[s->number] = s->enqueued;
    return clock;
}

void drain(cudaStream_t s, uint64_t upto);

/* Runs the stream's next operation. */
void step(cudaStream_t s)
{
    host_operation next = std::move(s->queue.front());
    s->queue.pop_front();
    race_operation(s->number, ++s->done, &next.knows);
    if (next.other) {
        s->waiting = 1;
        drain(next.other, next.after);
        s->waiting = 0;
    } else
        next.run();
}

/* Runs what streams with a priority hold as far as they need not wait. */
void run_early(void)
{
    const char *copies = getenv("REACH_CUDA_HOST_COPIES");
    if (!copies || strcmp(copies, "early") != 0)
        return;
    for (cudaStream_t s : streams)
        while (s->urgent && !s->waiting && !s->queue.empty() &&
               !(s->queue.front().other && s->queue.front().other->done < s->queue.front().after))
            step(s);
}

/* Runs what the stream holds until it has done `upto` operations. */
void drain(cudaStream_t s, uint64_t upto)
{
    while (s->done < upto) {
        if (s->queue.empty())
            die("an event waits for an operation that was never enqueued");
        step(s);
        if (!s->urgent)
            run_early(); /* what waited for this */
    }
}

void enqueue(cudaStream_t s, host_operation operation)
{
    learn(&s->knows, &host_knows);
    operation.knows = s->knows;
    s->queue.push_back(std::move(operation));
    s->enqueued++;
    run_early();
}

/* The host's own waiting, and what it learns by it. */
void wait_for(cudaStream_t s, uint64_t upto, const struct host_clock *then)
{
    waits += s->done < upto;
    drain(s, upto);
    learn(&host_knows, then);
}

void wait_for_all(cudaStream_t s)
{
    struct host_clock then = end_of(s);
    wait_for(s, s->enqueued, &then);
}

void drain_all(void)
{
    for (cudaStream_t s : streams)
        wait_for_all(s);
}

/* 1 if [memory, memory + bytes) lies inside one of the allocations. */
int inside(const std::map<const char *, size_t> &allocations, const void *memory, size_t bytes)
{
    auto next = allocations.upper_bound((const char *)memory);
    if (next == allocations.begin())
        return 0;
    --next;
    return (const char *)memory + bytes <= next->first + next->second;
}

cudaError_t allocate(void **memory, size_t bytes, std::map<const char *, size_t> *allocations)
{
    if (posix_memalign(memory, 256, bytes ? bytes : 1))
        return keep(cudaErrorMemoryAllocation);
    memset(*memory, 0xff, bytes); /* NaN as float, as double and as bf16 */
    (*allocations)[(const char *)*memory] = bytes;
    if (allocations == &device_memory)
        race_allocated(*memory, bytes);
    return cudaSuccess;
}

void release(void *memory, std::map<const char *, size_t> *allocations, const char *what)
{
    auto found = allocations->find((const char *)memory);
    if (found == allocations->end())
        die(what);
    if (allocations == &device_memory)
        device_used -= found->second;
    allocations->erase(found);
    free(memory);
}

} // namespace

extern "C" __attribute__((visibility("default"))) long cuda_host_waits(void)
{
    return waits;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = (int)setting("REACH_CUDA_HOST_DEVICES", 1);
    if (*count >= 1)
        return cudaSuccess;
    return keep(*count < 0 ? cudaErrorInsufficientDriver : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    int count;
    cudaError_t error = cudaGetDeviceCount(&count);
    return error != cudaSuccess            ? error
           : device < 0 || device >= count ? keep(cudaErrorInvalidDevice)
                                           : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    (void)device;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "stand-in");
    p->major = 9;
    p->multiProcessorCount = 4;
    p->totalGlobalMem = device_total();
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? (int)shared_most()
             : attribute == cudaDevAttrMultiProcessorCount        ? 4
             : attribute == cudaDevAttrComputeCapabilityMajor     ? 9
                                                                  : 0;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *total = device_total();
    *free_bytes = *total - device_used;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = setting("REACH_CUDA_HOST_DEVICES", 1) < 0 ? 11040 : 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNotReady: return "device not ready";
    default: return "invalid argument";
    }
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    if (bytes > device_total() - device_used)
        return keep(cudaErrorMemoryAllocation);
    cudaError_t error = allocate(memory, bytes, &device_memory);
    if (error == cudaSuccess)
        device_used += bytes;
    return error;
}

cudaError_t cudaFree(void *memory)
{
    if (!memory)
        return cudaSuccess;
    drain_all();
    release(memory, &device_memory, "cudaFree of what cudaMalloc did not give");
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return allocate(memory, bytes, &pinned_memory);
}

cudaError_t cudaFreeHost(void *memory)
{
    if (!memory)
        return cudaSuccess;
    drain_all();
    release(memory, &pinned_memory, "cudaFreeHost of what cudaMallocHost did not give");
    return cudaSuccess;
}

/* Pageable host memory is read before the call returns, and written before it returns; pinned
 * memory when the stream comes to it.
 */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    int to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (!bytes)
        return cudaSuccess;
    if ((to_device != inside(device_memory, to, bytes)) ||
        (from_device != inside(device_memory, from, bytes)))
        die("cudaMemcpyAsync: not the kind of memory that it says, or past an allocation's end");
    if (!from_device && !inside(pinned_memory, from, bytes)) {
        std::vector<char> copy((const char *)from, (const char *)from + bytes);
        host_enqueue(stream, [=] {
            race_write(to, bytes, NULL);
            memcpy(to, copy.data(), bytes);
        });
        return cudaSuccess;
    }
    host_enqueue(stream, [=] {
        race_read(from, bytes, NULL);
        race_write(to, bytes, NULL);
        memcpy(to, from, bytes);
    });
    if (!to_device && !inside(pinned_memory, to, bytes))
        wait_for_all(stream);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    if (bytes && !inside(device_memory, memory, bytes))
        die("cudaMemsetAsync: past an allocation's end");
    host_enqueue(stream, [=] {
        race_write(memory, bytes, NULL);
        memset(memory, value, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    unsigned taken = 0;
    int number = 0;
    for (cudaStream_t s : streams)
        taken |= 1u << s->number;
    while (taken >> number & 1)
        number++;
    if (number >= STREAMS_MOST)
        die("more streams at once than it has numbers for");
    *stream = new host_stream();
    (*stream)->number = number;
    (*stream)->enqueued = (*stream)->done = operations_of_number[number];
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    (void)priority;
    cudaError_t error = cudaStreamCreateWithFlags(stream, flags);
    (*stream)->urgent = 1;
    return error;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    drain(stream, stream->enqueued);
    operations_of_number[stream->number] = stream->enqueued;
    for (size_t i = 0; i < streams.size(); i++)
        if (streams[i] == stream)
            streams.erase(streams.begin() + (long)i);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    wait_for_all(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    cudaStream_t other = event->stream;
    uint64_t after = event->after; /* as recorded now */
    if (other) {
        enqueue(stream, {nullptr, other, after, {}});
        learn(&stream->knows, &event->knows);
    }
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = new host_event();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event->stream = stream;
    event->after = stream->enqueued;
    event->knows = end_of(stream);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event->stream)
        wait_for(event->stream, event->after, &event->knows);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (event->stream && event->stream->done < event->after)
        return cudaErrorNotReady;
    learn(&host_knows, &event->knows);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    drain_all();
    return cudaSuccess;
}

cudaError_t host_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    if (value < 0 || (size_t)value > shared_most())
        return keep(cudaErrorInvalidValue);
    shared_limits[kernel] = value;
    return cudaSuccess;
}

void host_enqueue(cudaStream_t stream, std::function<void()> operation)
{
    enqueue(stream, {std::move(operation), nullptr, 0, {}});
}

/* Static shared memory is this module's thread-local memory (cuda_runtime.h), in one piece. */
static thread_local char in_shared;

static int find_shared(struct dl_phdr_info *module, size_t, void *)
{
    const char *start = (const char *)module->dlpi_tls_data;
    for (int i = 0; start && i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_TLS && &in_shared >= start &&
            &in_shared < start + module->dlpi_phdr[i].p_memsz) {
            static_shared = (char *)module->dlpi_tls_data;
            static_shared_bytes = module->dlpi_phdr[i].p_memsz;
            return 1;
        }
    return 0;
}

/* NaN as float and as double, and either no byte that is 0 or every other two. */
static void spoil(void *memory, size_t bytes, bool zeros)
{
    static const unsigned char nan[2][4] = {{0xff, 0xff, 0xff, 0xff}, {0, 0, 0xc0, 0x7f}};
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)memory)[i] = nan[zeros][i % 4];
}

/* Lists that ptx.py wrote, if it is linked in, each up to an entry of zeros: the linker puts them
 * into one section and names its ends. */
extern "C" {
extern const struct host_translated *const __start_host_translated[]
    __attribute__((weak, visibility("hidden")));
extern const struct host_translated *const __stop_host_translated[]
    __attribute__((weak, visibility("hidden")));
}

const struct host_translated *host_find_translated(const void *kernel)
{
    static std::map<const void *, const struct host_translated *> all;
    if (!__start_host_translated)
        return NULL;
    if (all.empty())
        for (const struct host_translated *const *list = __start_host_translated;
             list < __stop_host_translated; list++)
            for (const struct host_translated *t = *list; t->kernel; t++)
                all[t->kernel] = t;
    auto found = all.find(kernel);
    if (found == all.end())
        die("a kernel that is not among the translated ones");
    return found->second;
}

/* Shared memory of a block, for a grid. A translated kernel has addresses of 32 bits in it, which
 * are those of the host: it lies below 4 GB, and its end near a page that nobody may touch. */
static char *shared_area(size_t bytes, bool low)
{
    const size_t most = 512 << 10, page = 4096;
    static char *area;
    void *shared;
    if (!low) {
        if (posix_memalign(&shared, 1024, bytes ? bytes : 1))
            die("no memory for shared memory");
        return (char *)shared;
    }
#ifdef MAP_32BIT
    if (!area) {
        shared = mmap(NULL, most + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        if (shared == MAP_FAILED || mprotect((char *)shared + most, page, PROT_NONE) != 0)
            die("no memory below 4 GB for shared memory");
        area = (char *)shared;
    }
#else
    die("translated kernels need a processor whose system gives memory below 4 GB");
#endif
    return area + most - (bytes + 1023) / 1024 * 1024;
}

static void run_grid(const struct host_translated *translated, dim3 grid, dim3 block,
                     size_t shared_bytes, const std::function<void()> &thread)
{
    uint64_t seed = (uint64_t)setting("REACH_CUDA_HOST_SEED", 0),
             blocks = (uint64_t)grid.x * grid.y * grid.z, step = 1;
    size_t fixed = translated ? (translated->fixed + 1023) / 1024 * 1024 : 0;
    static uint64_t launches;
    char *shared = shared_area(fixed + shared_bytes, translated);
    if (!dl_iterate_phdr(find_shared, NULL))
        die("static shared memory is not where it should be");
    launches++;
    if (seed && blocks % 7)
        step = 7; /* blocks in another order */
    gridDim = grid;
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t at = (i * step + (seed ? launches : 0)) % blocks;
        blockIdx = {(unsigned)(at % grid.x), (unsigned)(at / grid.x % grid.y),
                    (unsigned)(at / grid.x / grid.y)};
        spoil(shared, fixed + shared_bytes, at % 2);
        spoil(static_shared, static_shared_bytes,
              at % 2); /* a block finds nothing there that it can use */
        race_block(shared, fixed + shared_bytes, static_shared, static_shared_bytes);
        host_run_block(block, (unsigned char *)shared + fixed,
                       seed ? seed + 1000003 * launches + at : 0, thread);
        race_block_end();
    }
    if (!translated)
        free(shared);
}

/* For launched.sh: one line a kernel and process. */
static void note_launch(const void *kernel)
{
    static std::set<const void *> noted;
    const char *folder = getenv("REACH_CUDA_HOST_LAUNCHED");
    Dl_info library;
    if (!folder || !noted.insert(kernel).second)
        return;
    std::string name = std::string(folder) + "/" + program_invocation_short_name;
    FILE *f = dladdr(kernel, &library) ? fopen(name.c_str(), "a") : NULL;
    if (!f ||
        fprintf(f, "%016zx\n", (size_t)((const char *)kernel - (const char *)library.dli_fbase)) <
            0 ||
        fclose(f))
        die("cannot note a launch in the folder that REACH_CUDA_HOST_LAUNCHED names");
}

void host_enqueue_grid(const void *kernel, dim3 grid, dim3 block, size_t shared_bytes,
                       cudaStream_t stream, std::function<void()> thread)
{
    const struct host_translated *translated = host_find_translated(kernel);
    uint64_t threads = (uint64_t)block.x * block.y * block.z,
             most = translated && translated->threads ? translated->threads : 1024;
    size_t limit = shared_limits.count(kernel) && (size_t)shared_limits[kernel] > SHARED_PLAIN
                       ? (size_t)shared_limits[kernel]
                       : SHARED_PLAIN;
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535 ||
        !threads || threads > most || block.z > 64 ||
        shared_bytes + (translated ? translated->fixed : 0) > limit) {
        keep(cudaErrorInvalidValue);
        return;
    }
    note_launch(kernel);
    host_enqueue(stream, [=] { run_grid(translated, grid, block, shared_bytes, thread); });
}

/* Starts threads for a test, all at once, with the stack that OpenMP will give them. */
#include "run/threads.h"

#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* LLVM's library reports its interpretation of its environment; GNU's does not. */
extern size_t kmp_get_stacksize_s(void) __attribute__((weak));

/* The stack that OpenMP gives its threads. */
struct stack {
    const char *name, *text; /* the variable that sets it and its value, or the limit and NULL */
    size_t size; /* 0: the system's default */
};

/* Makes OpenMP use `asked` threads, or for 0 as many as its environment says, within its own
 * limit. */
static int choose(long asked, struct error *e)
{
    int count = asked ? (int)asked : omp_get_max_threads();

    if (omp_get_max_active_levels() < 1)
        count = 1;
    if (count > omp_get_thread_limit())
        count = omp_get_thread_limit();
    if (count > THREADS_MOST)
        return fail(e, "OMP_NUM_THREADS: %d threads (expected at most %d)", count, THREADS_MOST);
    omp_set_num_threads(count);
    return 0;
}

/* A size in OpenMP's form: a whole number and B, K, M or G; default K. */
static int read_stack(size_t *size, const char *text)
{
    static const char units[] = "bkmg";
    const char *unit = units + 1;
    unsigned long long value;
    char *end;

    text += strspn(text, " \t");
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || !isdigit((unsigned char)*text))
        return -1;
    end += strspn(end, " \t");
    if (*end) {
        unit = strchr(units, tolower((unsigned char)*end++));
        end += strspn(end, " \t");
    }
    if (!unit || *end || value > SIZE_MAX >> 10 * (unit - units))
        return -1;
    *size = (size_t)value << 10 * (unit - units);
    return 0;
}

static int stack_read(struct stack *s, struct error *e)
{
    static const char *const names[] = {"KMP_STACKSIZE", "OMP_STACKSIZE", "GOMP_STACKSIZE"};
    int llvm = kmp_get_stacksize_s != NULL;

    *s = (struct stack){.name = "ulimit -s"};
    for (size_t i = llvm ? 0 : 1; i < sizeof names / sizeof *names && !s->text; i++) {
        const char *text = getenv(names[i]);

        if (!text || !*text)
            continue;
        *s = (struct stack){.name = names[i], .text = text};
        if (read_stack(&s->size, text) != 0)
            return fail(e, "%s=%s: not a size (expected a whole number with B, K, M or G after it)",
                        s->name, text);
    }
    if (llvm)
        s->size = kmp_get_stacksize_s();
    return 0;
}

/* Threads that wait for each other's start. */
struct trial {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int over;
};

static void *wait_for_end(void *argument)
{
    struct trial *t = argument;

    pthread_mutex_lock(&t->lock);
    while (!t->over)
        pthread_cond_wait(&t->change, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Memory that LLVM's OpenMP needs in addition to its threads' stacks, with a reserve: it ends the
 * program if it does not get it. GNU's needs next to nothing. */
static size_t spare_of(int count)
{
    return kmp_get_stacksize_s ? (16UL + 8UL * (size_t)count) << 20 : 1 << 20;
}

/* Starts `count` threads with that much memory left, then ends them; pthread_create's result. */
static int try_threads(struct trial *t, pthread_t *threads, int count,
                       const pthread_attr_t *attributes)
{
    size_t spare_bytes = spare_of(count);
    void *spare = mmap(NULL, spare_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int started = 0, rc = spare == MAP_FAILED ? errno : 0;

    while (rc == 0 && started < count &&
           (rc = pthread_create(&threads[started], attributes, wait_for_end, t)) == 0)
        started++;
    if (spare != MAP_FAILED)
        munmap(spare, spare_bytes);
    pthread_mutex_lock(&t->lock);
    t->over = 1;
    pthread_cond_broadcast(&t->change);
    pthread_mutex_unlock(&t->lock);
    while (started-- > 0)
        pthread_join(threads[started], NULL);
    return rc;
}

/* Sets *attributes to the stack of OpenMP's threads. */
static int stack_apply(pthread_attr_t *attributes, const struct stack *s, struct error *e)
{
    const char *sign = s->text ? "=" : "", *text = s->text ? s->text : "";
    size_t size = s->size;

    if (!s->text && !size)
        pthread_attr_getstacksize(attributes, &size);
    if (size < THREADS_STACK_LEAST)
        return fail(e, "%s%s%s: too little stack for a thread (expected at least %dK)", s->name,
                    sign, text, THREADS_STACK_LEAST >> 10);
    return pthread_attr_setstacksize(attributes, size) == 0
               ? 0
               : fail(e, "%s%s%s: too much stack for a thread (expected less)", s->name, sign,
                      text);
}

static int try_team(const struct stack *s, int count, struct error *e)
{
    struct trial t = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_attr_t attributes;
    int rc, why = 0;

    if (!threads || pthread_attr_init(&attributes) != 0) {
        free(threads);
        return fail_memory(e, (double)count * sizeof *threads, "threads");
    }
    rc = stack_apply(&attributes, s, e);
    if (rc == 0 &&
        (why = try_threads(&t, threads, count - 1, &attributes)) != 0) /* the first one exists */
        rc = fail(e,
                  "%d threads cannot be started: %s (expected fewer threads, a smaller "
                  "OMP_STACKSIZE, or higher limits of "
                  "processes and memory)",
                  count, strerror(why));
    pthread_attr_destroy(&attributes);
    free(threads);
    return rc;
}

/* Every thread's first allocation reserves 64 MB of address space; if that is limited (ulimit -v),
 * all share one arena, or nothing would be left for the libraries, which do not check. */
static void share_allocations(void)
{
#ifdef M_ARENA_MAX
    struct rlimit space;

    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
#endif
}

/* SIGBUS is sent to the thread that read the missing bytes, possibly in oneDNN's code with its
 * stack pointer elsewhere (run/interrupt.h): its handler gets a separate stack on every thread.
 * Without memory, or if a sanitizer has set one, nothing changes. */
static void give_signal_stacks(void)
{
    enum { BYTES = 32 << 10 };
    static char *stacks; /* until the program ends */

    if (!stacks)
        stacks = calloc((size_t)omp_get_max_threads(), BYTES);
    if (!stacks)
        return;
#pragma omp parallel
    {
        stack_t given = {.ss_sp = stacks + (size_t)omp_get_thread_num() * BYTES, .ss_size = BYTES},
                present;

        if (sigaltstack(NULL, &present) == 0 && present.ss_flags & SS_DISABLE)
            sigaltstack(&given, NULL);
    }
}

int threads_open(long asked, struct error *e)
{
    struct stack s;

    share_allocations();
    if (choose(asked, e) != 0 || stack_read(&s, e) != 0)
        return -1;
    if (omp_get_max_threads() > 1 && try_team(&s, omp_get_max_threads(), e) != 0)
        return -1;
    give_signal_stacks();
    return 0;
}

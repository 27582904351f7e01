/* reach-mpi: reach, with `erf` divided among the ranks of an MPI job. Only this file uses MPI. */
#include "commands/commands.h"
#include "run/ranks.h"

#include <mpi.h>
#include <stdlib.h>

enum { TAG_HEAD = 1, TAG_DATA = 2, PIECE = 1 << 28 /* bytes: counts of MPI are int */ };

/* The header before the data. */
struct head {
    uint64_t kind, bytes;
};

#if defined(__SANITIZE_ADDRESS__)
/* The library keeps memory until the end, in modules that it unloads earlier, so its leaks cannot
 * be distinguished from ours, which reach's own tests find. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

static int failed(int code, struct error *e)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;

    MPI_Error_string(code, text, &length);
    return fail(e, "MPI: %.200s", text);
}

static int open_job(struct ranks *here, struct error *e)
{
    MPI_Comm machine;
    int given, rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);

    if (rc != MPI_SUCCESS)
        return failed(rc, e);
    if (given < MPI_THREAD_SERIALIZED)
        return fail(e,
                    "this MPI takes calls from only one thread (expected MPI_THREAD_SERIALIZED)");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if ((rc = MPI_Comm_rank(MPI_COMM_WORLD, &here->rank)) != MPI_SUCCESS ||
        (rc = MPI_Comm_size(MPI_COMM_WORLD, &here->count)) != MPI_SUCCESS ||
        (rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                  &machine)) != MPI_SUCCESS ||
        (rc = MPI_Comm_rank(machine, &here->local)) != MPI_SUCCESS ||
        (rc = MPI_Comm_size(machine, &here->local_count)) != MPI_SUCCESS ||
        (rc = MPI_Comm_free(&machine)) != MPI_SUCCESS)
        return failed(rc, e);
    return 0;
}

static int send_message(int to, uint32_t kind, const void *data, size_t bytes, struct error *e)
{
    const char *from = data;
    struct head head = {kind, bytes};
    int rc = MPI_Send(&head, (int)sizeof head, MPI_BYTE, to, TAG_HEAD, MPI_COMM_WORLD);

    for (size_t at = 0; at < bytes && rc == MPI_SUCCESS; at += PIECE)
        rc = MPI_Send(from + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, to,
                      TAG_DATA, MPI_COMM_WORLD);
    return rc == MPI_SUCCESS ? 0 : failed(rc, e);
}

static int receive_message(struct ranks_message *m, struct error *e)
{
    struct head head;
    MPI_Status status;
    int there = 0, rc = MPI_Iprobe(MPI_ANY_SOURCE, TAG_HEAD, MPI_COMM_WORLD, &there, &status);

    *m = (struct ranks_message){0};
    if (rc != MPI_SUCCESS)
        return failed(rc, e);
    if (!there)
        return 0;
    m->from = status.MPI_SOURCE;
    rc = MPI_Recv(&head, (int)sizeof head, MPI_BYTE, m->from, TAG_HEAD, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS)
        return failed(rc, e);
    m->kind = (uint32_t)head.kind;
    m->bytes = (size_t)head.bytes;
    if (m->bytes && !(m->data = malloc(m->bytes)))
        return fail_memory(e, (double)m->bytes, "a message of another rank");
    for (size_t at = 0; at < m->bytes && rc == MPI_SUCCESS; at += PIECE)
        rc = MPI_Recv(m->data + at, (int)(m->bytes - at < PIECE ? m->bytes - at : PIECE), MPI_BYTE,
                      m->from, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return rc == MPI_SUCCESS ? 1 : failed(rc, e);
}

/* All ranks find the same usage errors, so they end normally. */
static void close_job(int status)
{
    if (status == EXIT_DONE || status == EXIT_USAGE)
        MPI_Finalize();
    else
        MPI_Abort(MPI_COMM_WORLD, status);
}

int main(int argc, char **argv)
{
    static const struct ranks_way way = {open_job, send_message, receive_message, close_job};

    ranks_offer(&way);
    return commands_main(argc, argv);
}

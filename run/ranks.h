/* The processes that share one run. `reach` is alone; a program started as several ranks provides a
 * way to communicate (commands/mpi/main.c). Messages between two ranks arrive in the order in which
 * they were sent. */
#ifndef REACH_RUN_RANKS_H
#define REACH_RUN_RANKS_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct ranks {
    int rank, count; /* this process, from 0, and the number of processes */
    int local, local_count; /* the same on this machine */
};

struct ranks_message {
    int from;
    uint32_t kind;
    size_t bytes;
    unsigned char *data; /* owned by the receiver; NULL: bytes is 0 */
};

/* Communication between ranks. In each rank at most one thread at a time calls these functions. */
struct ranks_way {
    int (*open)(struct ranks *here, struct error *e);
    int (*send)(int to, uint32_t kind, const void *data, size_t bytes,
                struct error *e); /* on return data may change */
    int (*receive)(struct ranks_message *m, struct error *e); /* 1: a message; 0: none yet; -1 */
    void (*close)(
        int status); /* 0: waits until all ranks are here; else ends them all at once with it */
};

/* Call before the verb: sets this program's functions. */
void ranks_offer(const struct ranks_way *way);
/* Finds the other ranks, if functions were set; else it is alone. */
int ranks_open(struct error *e) MUST_USE;
void ranks_close(int status);

/* 1 of 1 before ranks_open. */
const struct ranks *ranks_here(void);
int ranks_send(int to, uint32_t kind, const void *data, size_t bytes, struct error *e) MUST_USE;
int ranks_receive(struct ranks_message *m, struct error *e) MUST_USE;
/* Waits for a message, asleep most of the time: 0 or -1. */
int ranks_wait(struct ranks_message *m, struct error *e) MUST_USE;
/* A short sleep between polls for messages. */
void ranks_nap(void);

/* If several ranks share a machine with GPUs, each takes the GPU of its local number: "cuda:N" for
 * cuda, and for auto if there is a GPU. Else `device`. Returns `device` or text. */
const char *ranks_device(char text[32], const char *device, const char *dtype);
/* The memory budget of this rank: all of `memory` if the user gave it, else its share of the free
 * memory of a machine used by several ranks. */
size_t ranks_memory(size_t memory);

#endif

/* The processes that share one run. `reach` is alone; a program that is started as several, its ranks, offers a way between them
 * (commands/mpi/main.c). Messages between two ranks arrive in the order they were sent in. */
#ifndef REACH_RUN_RANKS_H
#define REACH_RUN_RANKS_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct ranks {
    int rank, count; /* this process, from 0, and how many there are */
    int local, local_count; /* the same among those of this machine */
};

struct ranks_message {
    int from;
    uint32_t kind;
    size_t bytes;
    unsigned char *data; /* owned by who receives it; NULL: bytes is 0 */
};

/* How ranks reach each other. Of one rank at most one thread at a time is in any of these. */
struct ranks_way {
    int (*open)(struct ranks *here, struct error *e);
    int (*send)(int to, uint32_t kind, const void *data, size_t bytes, struct error *e); /* returns when data may change */
    int (*receive)(struct ranks_message *m, struct error *e); /* 1: a message; 0: there is none yet; -1 */
    void (*close)(int status); /* after 0 once all ranks are here; after anything else all of them are ended with it at once */
};

/* Before the verb: the way of this program. */
void ranks_offer(const struct ranks_way *way);
/* Finds the other ranks, where there is a way; alone without. */
int ranks_open(struct error *e) MUST_USE;
void ranks_close(int status);

/* 1 of 1 before ranks_open. */
const struct ranks *ranks_here(void);
int ranks_send(int to, uint32_t kind, const void *data, size_t bytes, struct error *e) MUST_USE;
int ranks_receive(struct ranks_message *m, struct error *e) MUST_USE;
/* Waits for a message, asleep most of the time: 0 or -1. */
int ranks_wait(struct ranks_message *m, struct error *e) MUST_USE;
/* A nap between two looks for messages. */
void ranks_nap(void);

/* Where several ranks are on a machine with GPUs each takes that of its own number: "cuda:N" for cuda, and for auto where there
 * is a GPU. Else `device`. Returns `device` or text. */
const char *ranks_device(char text[32], const char *device, const char *dtype);
/* The budget of this rank: of `memory` that the user named all, else its part of what is free on a machine that others are on as
 * well. */
size_t ranks_memory(size_t memory);

#endif

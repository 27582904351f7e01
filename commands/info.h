/* The parts of the verb `info`. */
#ifndef REACH_COMMANDS_INFO_H
#define REACH_COMMANDS_INFO_H

#include "model/decoder.h"

/* A line or some on standard output each. */
void info_print_types(struct tensors *t); /* how many parameters, stored as what */
void info_print_mlp(const struct decoder *d); /* the MLP of blocks without experts, and the experts of the others */
void info_print_blocks(const struct decoder *d); /* what blocks do beside both; one line stands for all, as families have it */

#endif

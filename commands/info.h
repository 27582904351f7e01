/* The parts of the verb `info`. */
#ifndef REACH_COMMANDS_INFO_H
#define REACH_COMMANDS_INFO_H

#include "model/decoder.h"

/* Each prints one or more lines on standard output. */
void info_print_types(struct tensors *t); /* the number of parameters and their stored types */
void info_print_mlp(
    const struct decoder *d); /* the MLP of blocks without experts, and the experts of the others */
void info_print_blocks(
    const struct decoder *d); /* other parts of blocks, the same for all blocks of a family */

#endif

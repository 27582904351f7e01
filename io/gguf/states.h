/* Recurrences with matrix states, as several tables of architectures have them. Private to
 * io/gguf/. */
#ifndef REACH_IO_GGUF_STATES_H
#define REACH_IO_GGUF_STATES_H

#include "io/gguf/finish.h"

/* Keys. */
#define STATES(reach, key_size, key_heads, heads) \
    {"ssm.conv_kernel", reach, KEY_NEEDED}, {"ssm.state_size", key_size, KEY_NEEDED}, \
        {"ssm.group_count", key_heads, KEY_NEEDED}, {"ssm.time_step_rank", heads, KEY_NEEDED}, \
    { \
        "ssm.inner_size", "", KEY_HERE \
    }

/* The sizes of the states, in `m`. */
int model_take_states(struct gguf_model *m, struct error *e) MUST_USE;
/* The number of layers, in `m` and as num_hidden_layers: the blocks after them, which predict
 * further tokens, are left out. */
int model_take_layers(struct gguf_model *m, json_t *config, struct error *e) MUST_USE;

#endif

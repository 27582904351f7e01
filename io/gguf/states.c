#include "io/gguf/states.h"

int model_take_states(struct gguf_model *m, struct error *e)
{
    enum { BLOCKS_MOST = 10000 };
    struct gguf_states *s = &m->states;
    int64_t blocks;
    if (model_whole(m, "block_count", 0, &blocks, e) ||
        model_whole(m, "ssm.time_step_rank", 0, &s->heads, e) ||
        model_whole(m, "ssm.group_count", 0, &s->groups, e) ||
        model_whole(m, "ssm.state_size", 0, &s->key, e) ||
        model_whole(m, "ssm.inner_size", 0, &s->inner, e))
        return -1;
    if (blocks > BLOCKS_MOST)
        return fail(e, "%s: %s.block_count is %lld (expected at most %d)", model_path(m),
                    m->architecture->name, (long long)blocks, BLOCKS_MOST);
    return s->inner % s->heads == 0 && s->heads % s->groups == 0
               ? 0
               : fail(e,
                      "%s: %s.ssm.inner_size is %lld, with %lld heads in %lld groups (expected "
                      "multiples)",
                      model_path(m), m->architecture->name, (long long)s->inner,
                      (long long)s->heads, (long long)s->groups);
}

int model_take_layers(struct gguf_model *m, json_t *config, struct error *e)
{
    const json_int_t blocks = json_integer_value(json_object_get(config, "num_hidden_layers"));
    double further;
    if (model_number(m, "nextn_predict_layers", 0, &further, e))
        return -1;
    if (!(further >= 0 && further < (double)blocks && further == (double)(long)further))
        return fail(e, "%s: %s.nextn_predict_layers is %g (expected less than the %lld blocks)",
                    model_path(m), m->architecture->name, further, (long long)blocks);
    m->further = (long)further, m->layers = (long)blocks - m->further;
    return model_set(m, config, "num_hidden_layers", json_integer(m->layers), e);
}

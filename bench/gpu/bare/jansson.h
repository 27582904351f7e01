/* Stands for Jansson's header where that library is missing: model/ needs no more of it than the name of a type. */
#ifndef REACH_BENCH_GPU_JANSSON_H
#define REACH_BENCH_GPU_JANSSON_H

typedef struct json_t json_t;

#endif

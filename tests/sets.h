/* The tests of t-kernels-sets.c that stand in other files: sets_experts.c, sets_head.c. */
#ifndef REACH_TESTS_SETS_H
#define REACH_TESTS_SETS_H

void test_route(void **state);
void test_route_choice(void **state);
void test_mix(void **state);
void test_runs(void **state);
void test_head(void **state);
void test_head_rows(void **state);
void test_head_rows_edges(void **state);
void test_head_rows_bf16(void **state);
void test_head_left_out(void **state);

#endif

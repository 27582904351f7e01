/* Parts of stored matrices, and their rows in another order, without a copy. */
#ifndef REACH_MODEL_VIEWS_H
#define REACH_MODEL_VIEWS_H

#include "model/decoder.h"

/* A view that starts `elements` later in the data. */
view view_shift(view v, size_t elements);
/* Rows first .. first+count of each group of a view. */
view view_rows(view v, size_t first, size_t count);
/* The transpose of a view with one group. */
view view_turned(view v);
/* Rows first, first + 2, ... of a view with one group and an even number of rows. */
view view_every_second(view v, size_t first);
/* Each row of a view with one group `times` times. */
view view_repeated(view v, size_t times);
/* The one row of a view as a vector. */
view view_as_vector(view v);
/* A vector as the one row of a matrix. */
view view_as_row(view v);
/* Rows first .. first+count of each of `groups` groups of group_rows rows. */
view view_groups(view v, size_t groups, size_t group_rows, size_t first, size_t count);
/* Part `which` of `parts` of a view whose rows are laid out [groups][parts][size] (fused
 * projections, head-major). */
view view_interleaved(view v, size_t groups, size_t parts, size_t which, size_t size);

#endif

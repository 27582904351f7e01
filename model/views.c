#include "model/views.h"

view view_shift(view v, size_t elements)
{
    if (element_is_scaled(v.type))
        v.first += elements;
    else
        v.data = (const char *)v.data + element_bytes(v.type, elements);
    return v;
}

view view_rows(view v, size_t first, size_t count)
{
    v = view_shift(v, first * v.row_stride);
    v.rows = count;
    return v;
}

view view_turned(view v)
{
    view turned = v;
    turned.rows = v.columns, turned.columns = v.rows;
    turned.row_stride = v.column_stride, turned.column_stride = v.row_stride;
    return turned;
}

view view_every_second(view v, size_t first)
{
    v = view_shift(v, first * v.row_stride);
    v.rows /= 2, v.row_stride *= 2;
    return v;
}

view view_repeated(view v, size_t times)
{
    v.groups = v.rows, v.group_stride = v.row_stride;
    v.rows = times, v.row_stride = 0;
    return v;
}

view view_as_vector(view v)
{
    v.rows = v.columns, v.columns = 1;
    v.row_stride = v.column_stride, v.column_stride = 1;
    return v;
}

view view_as_row(view v)
{
    v.columns = v.rows, v.rows = 1;
    v.column_stride = v.row_stride, v.row_stride *= v.columns;
    return v;
}

view view_groups(view v, size_t groups, size_t group_rows, size_t first, size_t count)
{
    v = view_shift(v, first * v.row_stride);
    v.groups = groups;
    v.rows = count;
    v.group_stride = group_rows * v.row_stride;
    return v;
}

view view_interleaved(view v, size_t groups, size_t parts, size_t which, size_t size)
{
    return view_groups(v, groups, parts * size, which * size, size);
}

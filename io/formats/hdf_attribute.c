/* Attributes as text. */
#include "io/formats/csv.h"
#include "io/formats/hdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 1 << 20 };

int hdf_attribute_text(char **value, hid_t attribute, const char *name, const char *path,
                       struct error *e)
{
    int result = -1;
    char *variable = NULL, number[32];
    long long whole;
    unsigned long long natural;
    double real;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    *value = NULL;
    if (type < 0 || space < 0) {
        hdf_fail(e, path, name);
        goto end;
    }
    H5T_class_t kind = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    herr_t status = 0;
    if (H5Sget_simple_extent_type(space) != H5S_SCALAR ||
        (kind != H5T_STRING && kind != H5T_INTEGER && kind != H5T_FLOAT)) {
        result = 0;
        goto end;
    }
    if (kind == H5T_STRING && H5Tis_variable_str(type) > 0) {
        if ((status = H5Aread(attribute, type, &variable)) >= 0)
            *value = strdup(variable ? variable : "");
    } else if (kind == H5T_STRING && size <= TEXT_BYTES_MAX) {
        if ((*value = calloc(1, size + 1)))
            status = H5Aread(attribute, type, *value);
    } else if (kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE) {
        status = H5Aread(attribute, H5T_NATIVE_ULLONG, &natural);
        snprintf(number, sizeof number, "%llu", status < 0 ? 0 : natural);
        *value = strdup(number);
    } else if (kind == H5T_INTEGER) {
        status = H5Aread(attribute, H5T_NATIVE_LLONG, &whole);
        snprintf(number, sizeof number, "%lld", status < 0 ? 0 : whole);
        *value = strdup(number);
    } else if (kind == H5T_FLOAT) {
        status = H5Aread(attribute, H5T_NATIVE_DOUBLE, &real);
        *value = strdup(csv_format_real(number, status < 0 ? 0 : real));
    } else {
        fail(e, "%s: attribute %s has %zu bytes (expected at most %d)", path, name, size,
             TEXT_BYTES_MAX);
        goto end;
    }
    if (status < 0)
        hdf_fail(e, path, name);
    else if (!*value)
        fail_memory(e, (double)size, name);
    else
        result = 0;
end:
    if (result) {
        free(*value);
        *value = NULL;
    }
    if (variable)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, &variable);
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

#include "io/containers/hdf_types.h"

#include <string.h>

/* A floating type of two bytes: sign, exponent of that many bits and that bias, fraction. */
static hid_t make_half(size_t exponent, size_t bias)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    if (type >= 0 && H5Tset_fields(type, 15, 15 - exponent, exponent, 0, 15 - exponent) >= 0 &&
        H5Tset_ebias(type, bias) >= 0 && H5Tset_size(type, 2) >= 0)
        return type;
    H5Tclose(type);
    return -1;
}

/* As h5py stores numpy's bool. */
static hid_t make_bool(void)
{
    const int8_t no = 0, yes = 1;
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    if (type >= 0 && H5Tenum_insert(type, "FALSE", &no) >= 0 &&
        H5Tenum_insert(type, "TRUE", &yes) >= 0)
        return type;
    H5Tclose(type);
    return -1;
}

hid_t hdf_type_make(const struct stored_type *stored)
{
    const struct {
        const char *name;
        hid_t type;
    } plain[] = {{"F32", H5T_IEEE_F32LE}, {"F64", H5T_IEEE_F64LE}, {"U8", H5T_STD_U8LE},
                 {"I8", H5T_STD_I8LE},    {"U16", H5T_STD_U16LE},  {"I16", H5T_STD_I16LE},
                 {"U32", H5T_STD_U32LE},  {"I32", H5T_STD_I32LE},  {"U64", H5T_STD_U64LE},
                 {"I64", H5T_STD_I64LE}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, stored->name) == 0)
            return H5Tcopy(plain[i].type);
    return strcmp(stored->name, "F16") == 0    ? make_half(5, 15)
           : strcmp(stored->name, "BF16") == 0 ? make_half(8, 127)
                                               : make_bool();
}

const struct stored_type *hdf_type_find(hid_t type)
{
    static const char *const names[] = {"F32", "F16", "BF16", "F64", "BOOL", "U8", "I8",
                                        "U16", "I16", "U32",  "I32", "U64",  "I64"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct stored_type *stored = stored_type_find(names[i]);
        hid_t own = hdf_type_make(stored);
        int equal = own >= 0 && H5Tequal(type, own) > 0;
        H5Tclose(own);
        if (equal)
            return stored;
    }
    return NULL;
}

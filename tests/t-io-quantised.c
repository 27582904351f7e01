/* Checkpoints with scales beside their matrices against what bitsandbytes and transformers make of
 * them (tests/goldens/quantised/make.py), and files that must be refused. */
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/verify.h"
#include "io/scaled.h"
#include "io/tensors/quantised.h"
#include "model/decoder.h"
#include "tests/measured.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define GOLDENS "tests/goldens/quantised/"

static struct checkpoint open_checkpoint(const char *path)
{
    struct error e = {""};
    struct checkpoint c;
    if (checkpoint_open(&c, path, &e))
        fail_msg("%s", e.text);
    return c;
}

/* -- values -- */

static const char *const folders[] = {"tensors-bitsandbytes",
                                      "tensors-fp8",
                                      "tensors-mxfp4",
                                      "tensors-compressed",
                                      "tensors-fp8-names",
                                      "tensors-gptq-2",
                                      "tensors-gptq-3",
                                      "tensors-gptq-8",
                                      "nf4",
                                      "fp4",
                                      "int8",
                                      "gpt2-nf4",
                                      "gpt2-int8",
                                      "fp8-blocks",
                                      "fp8-tensor",
                                      "mxfp4",
                                      "compressed-fp8",
                                      "compressed-int8",
                                      "compressed-int4",
                                      "gptq",
                                      "awq"};
enum { FIRST_MODEL = 8, FOLDERS = sizeof folders / sizeof *folders };

/* The same elements in whichever way they are asked for. */
static void check_runs(const struct tensor *t, const float *all)
{
    float got[64];
    double wide[64];
    for (size_t first = 0; first < t->count; first += 1 + first / 3) {
        size_t count = t->count - first < 64 ? t->count - first : 64;
        element_run_f32(got, t->data, t->type, first, count);
        element_run_f64(wide, t->data, t->type, first, count);
        for (size_t i = 0; i < count; i++)
            if (got[i] != all[first + i] || wide[i] != all[first + i] ||
                element_read(t->data, t->type, first + i) != all[first + i])
                fail_msg("%s: element %zu of %zu from %zu on", t->name, i, count, first);
    }
}

static void matrices_have_the_bits_of_the_packages(void **state)
{
    (void)state;
    for (int i = 0; i < FOLDERS; i++) {
        char path[256], line[256];
        size_t found = 0, quantised = 0;
        struct checkpoint c;
        snprintf(path, sizeof path, GOLDENS "%s", folders[i]);
        c = open_checkpoint(path);
        snprintf(path, sizeof path, GOLDENS "%s/crc.csv", folders[i]);
        FILE *sums = fopen(path, "r");
        assert_non_null(sums);
        for (; fgets(line, sizeof line, sums); found++) {
            char *comma = strchr(line, ',');
            *comma = '\0';
            const struct tensor *t = tensors_find(c.tensors, line);
            if (!t || !element_is_scaled(t->type))
                fail_msg("%s: %s is not a quantised tensor", folders[i], line);
            float *all = malloc(t->count * sizeof *all),
                  *stored = malloc(t->count * sizeof *stored);
            assert_true(all && stored);
            tensor_copy(all, t, 0, t->count);
            element_run_f32(stored, t->data, t->type, 0, t->count);
            check_runs(t, stored);
            unsigned long sum = crc32(0, (const unsigned char *)all,
                                      (unsigned)(t->count * sizeof *all));
            if (sum != strtoul(comma + 1, NULL, 16))
                fail_msg("%s: %s has the sum %08lx (expected %s)", folders[i], line, sum,
                         comma + 1);
            free(all);
            free(stored);
        }
        fclose(sums);
        for (size_t k = 0; k < tensors_count(c.tensors); k++)
            quantised += element_is_scaled(tensors_at(c.tensors, k)->type);
        assert_true(found > 0);
        assert_int_equal(found, quantised);
        checkpoint_close(&c);
    }
}

/* -- models -- */

static void models_are_those_of_transformers(void **state)
{
    (void)state;
    for (int i = FIRST_MODEL; i < FOLDERS; i++) {
        char path[256];
        struct error e = {""};
        snprintf(path, sizeof path, GOLDENS "%s", folders[i]);
        measure_golden(path, path, "f64", 1e-9, 1e-9);
        measure_golden(path, path, "f32", 2e-5, 1e-5);
        struct decoder *d = decoder_open(path, &e);
        if (!d)
            fail_msg("%s", e.text);
        if (!strstr(d->notes, "are widened to float32; activations are not quantised"))
            fail_msg("%s: notes '%s'", path, d->notes);
        struct verified v;
        if (tensors_verify(&v, d->tensors, &e))
            fail_msg("%s", e.text);
        decoder_close(d);
    }
}

/* Written only when that is asked for, and then a model that is not quantised, of the same numbers.
 */
static void models_are_widened_on_request(void **state)
{
    (void)state;
    static const char *const names[] = {"nf4",   "gpt2-int8", "fp8-tensor",
                                        "mxfp4", "gptq",      "compressed-int4"};
    for (int i = 0; i < 6; i++)
        for (int hdf = 0; hdf < 2; hdf++) {
            struct error e = {""};
            char path[256], out[256];
            snprintf(path, sizeof path, GOLDENS "%s", names[i]);
            snprintf(out, sizeof out, "%s", scratch_path(scratch_folder, hdf ? "wide.h5" : "wide"));
            struct checkpoint c = open_checkpoint(path);
            assert_int_equal(checkpoint_write(&c, out, 1, &e), -1);
            assert_int_equal(check_message(path, &e, "which cannot be written (expected --widen"),
                             0);
            if (checkpoint_widen(&c, &e) || checkpoint_write(&c, out, 1, &e))
                fail_msg("%s", e.text);
            checkpoint_close(&c);
            c = open_checkpoint(out);
            assert_null(tensors_quantised(c.tensors));
            assert_false(config_has(c.config, "quantization_config"));
            checkpoint_close(&c);
            measure_golden(out, path, "f64", 1e-9, 1e-9);
        }
}

/* -- files that lie -- */

/* Tensors between bars, each NAME TYPE SHAPE VALUES: zXX is that byte everywhere, fA,B floats of A
 * of which the last is B, iA,B int32 likewise, m the numbers of NF4, tTEXT the text itself, as long
 * as * in the shape says. Types of other names have a byte an element. */
static const char *write_tensors(const char *script)
{
    static unsigned char file[16384];
    char header[4096] = "{", text[2048], *rest = text, *tensor;
    size_t at = 1, bytes = 0;
    static unsigned char data[8192];
    snprintf(text, sizeof text, "%s", script);
    while ((tensor = strtok_r(rest, "|", &rest))) {
        char name[128], type[16], shape[32], values[512];
        size_t count = 1, first = bytes;
        assert_int_equal(sscanf(tensor, "%127s %15s %31s %511s", name, type, shape, values), 4);
        if (strcmp(shape, "*") == 0)
            snprintf(shape, sizeof shape, "%zu", strlen(values) - 1);
        if (strcmp(shape, "-") == 0)
            shape[0] = '\0';
        for (const char *p = shape; *p; p += strcspn(p, ","), p += *p == ',')
            count *= strtoul(p, NULL, 10);
        assert_true(bytes + 4 * count <= sizeof data);
        if (values[0] == 't') {
            memcpy(data + bytes, values + 1, count);
            bytes += count;
        } else if (values[0] == 'z') {
            memset(data + bytes, (int)strtol(values + 1, NULL, 16), count);
            bytes += count;
        } else {
            for (size_t i = 0; i < count; i++, bytes += 4) {
                const char *last = strchr(values, ',');
                const char *number = last && i + 1 == count ? last + 1 : values + 1;
                float value = values[0] == 'm' ? scaled_codes(ELEMENT_NF4)[i % 16]
                                               : strtof(number, NULL);
                int32_t whole = (int32_t)strtol(number, NULL, 10);
                memcpy(data + bytes, values[0] == 'i' ? (void *)&whole : (void *)&value, 4);
            }
        }
        at += (size_t)
            snprintf(header + at, sizeof header - at,
                     "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                     at > 1 ? "," : "", name, type, shape, first, bytes);
    }
    at += (size_t)snprintf(header + at, sizeof header - at, "}");
    uint64_t length = at;
    memcpy(file, &length, 8);
    memcpy(file + 8, header, at);
    memcpy(file + 8 + at, data, bytes);
    return scratch_write(scratch_folder, "model.safetensors", file, 8 + at + bytes);
}

#define CODES "w.weight F8_E4M3 4,6 z38|"
#define WEIGHT4 "w.weight U8 24,1 z5a|"
#define ABSMAX "w.weight.absmax F32 2 f1|"
#define MAP "w.weight.quant_map F32 16 m|"
#define STATE_OF(type, json) "w.weight.quant_state.bitsandbytes__" type " U8 * t{" json "}|"
#define STATE(json) STATE_OF("nf4", json)
#define SIX_BY_EIGHT "\"quant_type\":\"nf4\",\"blocksize\":32,\"dtype\":\"float32\",\"shape\":[6,8]"
#define NESTED \
    SIX_BY_EIGHT ",\"nested_blocksize\":256,\"nested_dtype\":\"float32\",\"nested_offset\":"
#define BYTES "w.weight.absmax U8 2 z07|"
#define SCALES "w.weight.nested_absmax F32 1 f1|"
#define TABLE "w.weight.nested_quant_map F32 256 f0.5|"
#define BLOCKS "w.x_blocks U8 2,3,2,16 z21|"
#define ROWS "w.weight I8 4,6 z7f|"

struct file {
    const char *config, *tensors, *message; /* "": taken */
};

static void check_files(const struct file *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error e = {""};
        struct checkpoint c;
        char config[512], what[300];
        const char *path = write_tensors(rows[i].tensors);
        int length = snprintf(config, sizeof config,
                              "{\"model_type\":\"llama\",\"quantization_config\":%s}",
                              rows[i].config);
        scratch_write(scratch_folder, "config.json", config, (size_t)length);
        snprintf(what, sizeof what, "row %zu, %.200s", i, rows[i].tensors);
        int result = checkpoint_open(&c, path, &e);
        if (*rows[i].message ? !result : result)
            fail_msg("%s: %s", what, result ? e.text : "is taken");
        if (result && check_message(what, &e, rows[i].message))
            fail();
        if (!result)
            checkpoint_close(&c);
    }
}

static void files_that_lie_are_refused(void **state)
{
    (void)state;
    static const char blocks[] = "{\"quant_method\":\"fp8\",\"weight_block_size\":[3,4]}",
                      whole[] = "{\"quant_method\":\"fp8\",\"weight_block_size\":null}",
                      bnb[] = "{\"quant_method\":\"bitsandbytes\"}",
                      mx[] = "{\"quant_method\":\"mxfp4\"}";
    static const struct file rows[] = {
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1", ""},
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1|w.activation_scale F32 - f1", ""},
        {blocks, CODES "w.weight_scale_inv F32 2,3 f1",
         "w.weight_scale_inv is not a matrix of 2 x 2 scales (expected a scale for 3 x 4 el"},
        {blocks, CODES "w.weight_scale_inv F32 4 f1",
         "w.weight_scale_inv is not a matrix of 2 x 2 scales"},
        {blocks, CODES "w.weight_scale_inv F32 - f1",
         "w.weight_scale_inv is not a matrix of 2 x 2 scales"},
        {blocks, CODES "w.weight_scale_inv U8 2,2 z7f",
         "w.weight_scale_inv is stored as U8 (expected F32, F16, BF16 or F8_E8M0"},
        {blocks, CODES "w.weight_scale_inv F8_E8M0 2,2 z7f", ""},
        {blocks, CODES "w.weight_scale_inv F8_E8M0 2,2 zff",
         "w.weight has the scale nan for its block 0 (expected a finite number"},
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1,nan",
         "w.weight has the scale nan for its block 3"},
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1,inf",
         "w.weight has the scale inf for its block 3"},
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1,0",
         "w.weight has the scale 0 for its block 3"},
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1,-2",
         "w.weight has the scale -2 for its block 3"},
        {blocks, CODES, "w.weight is stored as F8_E4M3 without w.weight_scale_inv beside it"},
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1|v.weight_scale_inv F32 2,2 f1",
         "v.weight_scale_inv has no quantised matrix"},
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1|v.activation_scale F32 - f1",
         "v.activation_scale has no quantised matrix"},
        {blocks, CODES "w.weight_scale_inv F32 2,2 f1|v.e F8_E8M0 2,2 z7f",
         "v.e is stored as F8_E8M0 without scales beside it"},
        {blocks, "w.weight F8_E4M3 24 z38|w.weight_scale_inv F32 2,2 f1",
         "w.weight is stored as F8_E4M3 and is not a matrix"},
        {blocks, "w.weight F8_E4M3 0,6 z38|w.weight_scale_inv F32 0,2 f1",
         "w.weight is stored as F8_E4M3 and is not a matrix"},
        {blocks, "w.weight F32 4,6 f1",
         "quantization_config says fp8, but no tensor is quantised so"},
        {"{\"quant_method\":\"fp8\",\"weight_block_size\":[0,4]}",
         CODES "w.weight_scale_inv F32 2,2 f1", "weight_block_size is not a list"},
        {"{\"quant_method\":\"fp8\",\"weight_block_size\":[4]}",
         CODES "w.weight_scale_inv F32 2,2 f1", "weight_block_size is not a list"},
        {"{\"quant_method\":\"fp8\",\"weight_block_size\":128}",
         CODES "w.weight_scale_inv F32 2,2 f1", "weight_block_size is not a list"},
        {"{\"quant_method\":\"fp8\"}", CODES "w.weight_scale_inv F32 1,1 f1", ""},
        {whole, CODES "w.weight_scale_inv F32 - f1", ""},
        {whole, CODES "w.weight_scale_inv F32 1 f1", ""},
        {whole, CODES "w.weight_scale_inv F32 4,1 f1",
         "w.weight_scale_inv has 4 scales (expected one: weight_block_size is null)"},
        {"{\"quant_method\":\"compressed-tensors\"}", CODES "w.weight_scale_inv F32 1,1 f1",
         "quantization_config.config_groups is not an object"},
        {"{\"quant_method\":\"hqq\"}", CODES "w.weight_scale_inv F32 1,1 f1",
         "quantization_config is not supported: its quant_method is 'hqq'"},
        {"{\"quant_method\":\"torchao\"}", CODES "w.weight_scale_inv F32 1,1 f1",
         "torchao stores objects of its own classes, not plain tensors"},
        {"{}", CODES "w.weight_scale_inv F32 1,1 f1",
         "w.weight is stored as F8_E4M3, which is not supported"},
        {"null", CODES "w.weight_scale_inv F32 1,1 f1",
         "w.weight is stored as F8_E4M3, which is not supported"},
        {mx, BLOCKS "w.x_scales U8 2,3,2 z7f", ""},
        {mx, BLOCKS "w.x_scales U8 12 zfe", ""},
        {mx, BLOCKS "w.x_scales U8 2,3,2 zff",
         "w.x_blocks has the scale nan for its block 0 (expected a power of two: no byte 255)"},
        {mx, BLOCKS "w.x_scales U8 2,3 z7f",
         "w.x_scales holds 6 elements of U8 (expected 12 of U8 for w.x_blocks)"},
        {mx, BLOCKS "w.x_scales I8 2,3,2 z7f",
         "w.x_scales holds 12 elements of I8 (expected 12 of U8"},
        {mx, BLOCKS "w.y F32 1 f1", "w.x_blocks has no w.x_scales beside it"},
        {mx, BLOCKS "w.x_scales U8 2,3,2 z7f|w.x F32 1 f1",
         "w.x_blocks stores the same matrix as w.x, which is not quantised"},
        {mx, BLOCKS "w.x_scales U8 2,3,2 z7f|v.x_scales U8 1 z7f",
         "v.x_scales has no quantised matrix that it belongs to"},
        {mx, "w.x_blocks U8 6,2,16 z21|w.x_scales U8 6,2 z7f",
         "w.x_blocks is stored as U8 and is not a stack of matrices in blocks of 16"},
        {mx, "w.x_blocks U8 2,3,2,8 z21|w.x_scales U8 2,3,2 z7f",
         "w.x_blocks is stored as U8 and is not a stack of matrices"},
        {mx, "w.x_blocks F32 1,1,1,16 f1|w.x_scales U8 1,1,1 z7f",
         "w.x_blocks is stored as F32 and is not a stack of matrices"},
        {mx, "w.weight F32 4,6 f1",
         "quantization_config says mxfp4, but no tensor is quantised so"},
        /* four bits */
        {bnb, WEIGHT4 ABSMAX MAP STATE(SIX_BY_EIGHT), ""},
        {bnb, WEIGHT4 MAP STATE(SIX_BY_EIGHT), "w.weight has no w.weight.absmax beside it"},
        {bnb, WEIGHT4 ABSMAX STATE(SIX_BY_EIGHT), "w.weight has no w.weight.quant_map beside it"},
        {bnb, WEIGHT4, "w.weight is stored as U8 without scales beside it"},
        {bnb, WEIGHT4 ABSMAX MAP, "w.weight is stored as U8 without scales beside it"},
        {bnb, ABSMAX MAP STATE(SIX_BY_EIGHT), "has no quantised matrix that it belongs to"},
        {bnb, WEIGHT4 "w.weight.absmax F32 3 f1|" MAP STATE(SIX_BY_EIGHT),
         "w.weight.absmax holds 3 elements of F32 (expected 2 of F32"},
        {bnb, WEIGHT4 "w.weight.absmax F32 2 f1,nan|" MAP STATE(SIX_BY_EIGHT),
         "w.weight has the scale nan for its block 1"},
        {bnb, WEIGHT4 "w.weight.absmax F32 2 f1,-1|" MAP STATE(SIX_BY_EIGHT),
         "w.weight has the scale -1 for its block 1"},
        {bnb, WEIGHT4 "w.weight.absmax F32 2 f1,inf|" MAP STATE(SIX_BY_EIGHT),
         "w.weight has the scale inf for its block 1"},
        {bnb, WEIGHT4 "w.weight.absmax F32 2 f1,0|" MAP STATE(SIX_BY_EIGHT),
         ""}, /* a block of zeros */
        {bnb, WEIGHT4 ABSMAX "w.weight.quant_map F32 15 m|" STATE(SIX_BY_EIGHT),
         "quant_map holds 15 elements of F32 (expected 16"},
        {bnb, WEIGHT4 ABSMAX "w.weight.quant_map F32 16 f1|" STATE(SIX_BY_EIGHT),
         "quant_map holds 1 at 0 (expected -1, as NF4 has)"},
        {bnb, WEIGHT4 ABSMAX MAP STATE_OF("fp4", SIX_BY_EIGHT),
         "quant_type is 'nf4' (expected that of its name)"},
        {bnb, "w.weight U8 23,1 z5a|" ABSMAX MAP STATE(SIX_BY_EIGHT),
         "w.weight has 23 bytes of codes (expected 24 for the 48 elem"},
        {bnb, WEIGHT4 ABSMAX MAP STATE("\"quant_type\":\"nf4\",\"blocksize\":32,\"shape\":[47]"),
         ""}, /* the last half is none */
        {bnb, WEIGHT4 ABSMAX MAP STATE("\"quant_type\":\"nf4\",\"blocksize\":0,\"shape\":[6,8]"),
         "blocksize is 0 (expected a whole"},
        {bnb, WEIGHT4 ABSMAX MAP STATE("\"quant_type\":\"nf4\",\"blocksize\":48,\"shape\":[6,8]"),
         "blocksize is 48 (expected a power"},
        {bnb, WEIGHT4 ABSMAX MAP STATE("\"quant_type\":\"nf4\",\"blocksize\":32,\"shape\":[6,9]"),
         "24 bytes of codes (expected 27"},
        {bnb, WEIGHT4 ABSMAX MAP STATE("\"quant_type\":\"nf4\",\"blocksize\":32,\"shape\":[6,0]"),
         "shape has a size that is not a whole"},
        {bnb, WEIGHT4 ABSMAX MAP STATE("\"quant_type\":\"nf4\",\"blocksize\":32,\"shape\":null"),
         "shape is not a list of 1 to 8 sizes"},
        {bnb,
         WEIGHT4 ABSMAX MAP STATE(
             "\"quant_type\":\"nf4\",\"blocksize\":32,\"shape\":[4294967296,4294967296,48]"),
         "shape has more elements than can be counted"},
        {bnb, WEIGHT4 ABSMAX MAP STATE("\"quant_type\":\"nf4\",\"shape\":[6,8]"),
         "blocksize is missing"},
        {bnb, WEIGHT4 ABSMAX MAP STATE("\"quant_type\":"), "bitsandbytes__nf4"},
        {bnb, WEIGHT4 ABSMAX MAP "w.weight.quant_state.bitsandbytes__nf4 F32 4 f1",
         "bitsandbytes__nf4 is stored as F32 (expected U8"},
        /* scales with scales */
        {bnb, WEIGHT4 BYTES SCALES TABLE MAP STATE(NESTED "2.5"), ""},
        {bnb, WEIGHT4 BYTES SCALES TABLE MAP STATE(NESTED "NaN"), "nested_offset is NaN"},
        {bnb, WEIGHT4 BYTES SCALES TABLE MAP STATE(NESTED "1e300"),
         "nested_offset is 1.0000000000000001e+300 (expected a number from"},
        {bnb, WEIGHT4 BYTES SCALES TABLE MAP STATE(SIX_BY_EIGHT ",\"nested_blocksize\":256"),
         "nested_offset is missing"},
        {bnb, WEIGHT4 BYTES SCALES TABLE MAP STATE(SIX_BY_EIGHT), "nested_blocksize is missing"},
        {bnb, WEIGHT4 BYTES TABLE MAP STATE(NESTED "2.5"),
         "w.weight has no w.weight.nested_absmax beside it"},
        {bnb, WEIGHT4 BYTES SCALES MAP STATE(NESTED "2.5"),
         "w.weight has no w.weight.nested_quant_map beside it"},
        {bnb, WEIGHT4 BYTES "w.weight.nested_absmax F32 1 finf|" TABLE MAP STATE(NESTED "2.5"),
         "has the scale inf for its block 0"},
        {bnb, WEIGHT4 BYTES SCALES "w.weight.nested_quant_map F32 16 f1|" MAP STATE(NESTED "2.5"),
         "nested_quant_map holds 16 elements"},
        {bnb, WEIGHT4 ABSMAX SCALES MAP STATE(SIX_BY_EIGHT),
         "w.weight.nested_absmax has no quantised matrix"},
        /* eight bits */
        {bnb, ROWS "w.SCB F32 4 f1|w.weight_format U8 - z00", ""},
        {bnb, ROWS "w.SCB F32 4 f1,0", ""},
        {bnb, ROWS "w.SCB F32 4 f1|w.weight_format U8 - z02",
         "w.weight_format is 2 (expected 0, rows)"},
        {bnb, ROWS "w.SCB F32 6 f1",
         "w.SCB holds 6 elements of F32 (expected 4 of F32 for w.weight)"},
        {bnb, ROWS "w.SCB F32 4 f1,nan", "w.weight has the scale nan for its block 3"},
        {bnb, ROWS "w.SCB F32 4 f1,-1", "w.weight has the scale -1 for its block 3"},
        {bnb, ROWS, "w.weight is stored as I8 without scales beside it"},
        {bnb, ROWS "w.SCB F32 4 f1|v.SCB F32 4 f1",
         "v.SCB has no quantised matrix that it belongs to"},
        {bnb, "w.weight I8 24 z7f|w.SCB F32 4 f1",
         "w.weight has scales of rows (SCB) and is not a matrix"},
        /* a part of one that is a matrix itself */
        {bnb, WEIGHT4 ABSMAX MAP STATE(SIX_BY_EIGHT) "w.weight.absmax.SCB F32 1 f1",
         "w.weight.absmax.SCB has no quantised matrix"},
    };
    check_files(rows, sizeof rows / sizeof *rows);
}

#define GROUPS(groups) "{\"quant_method\":\"compressed-tensors\",\"config_groups\":{" groups "}}"
#define GROUP(format, weights) \
    "\"g\":{\"format\":\"" format "\",\"weights\":{\"num_bits\":" weights "}}"
#define SCHEME(format, weights) GROUPS(GROUP(format, weights))
#define OTHERS(members) \
    "{\"quant_method\":\"compressed-tensors\",\"config_groups\":{" GROUP( \
        "pack-quantized", "4,\"group_size\":4") "}," members "}"
#define GPTQ(bits, members) \
    "{\"quant_method\":\"gptq\",\"bits\":" bits ",\"group_size\":8" members "}"
#define AWQ(bits, members) \
    "{\"quant_method\":\"awq\",\"bits\":" bits ",\"group_size\":8" members "}"
#define PACKED "w.weight_packed I32 4,1 i99|"
#define SHAPE "w.weight_shape I32 2 i4,8|"
#define OF_GROUPS "w.weight_scale F32 4,2 f1|"
#define COLUMNS "w.qweight I32 2,8 i99|w.scales F32 2,8 f1|"
#define ZEROS "w.qzeros I32 2,1 i7|"
#define ORDER "w.g_idx I32 16 i1,"

static void packed_files_that_lie_are_refused(void **state)
{
    (void)state;
    static const char pack[] = SCHEME("pack-quantized", "4,\"group_size\":4"),
                      zeros[] = SCHEME("pack-quantized", "4,\"group_size\":4,\"symmetric\":false"),
                      rows_of[] = SCHEME("int-quantized", "8,\"strategy\":\"channel\""),
                      gptq[] = GPTQ("4", ""), awq[] = AWQ("4", "");
    static const struct file rows[] = {
        /* compressed-tensors */
        {pack, PACKED SHAPE OF_GROUPS, ""},
        {pack, PACKED SHAPE OF_GROUPS "w.input_scale F32 1 f1|w.k_scale F32 1 f1", ""},
        {pack, PACKED OF_GROUPS, "w.weight_packed has no w.weight_shape beside it"},
        {pack, PACKED SHAPE, "w.weight_packed has no w.weight_scale beside it"},
        {pack, OF_GROUPS "v.weight F32 2 f1", "w.weight_scale has no quantised matrix"},
        {pack, PACKED "w.weight_shape I32 2 i4,999|" OF_GROUPS, "w.weight_shape is 4 x 999"},
        {pack, PACKED "w.weight_shape I32 2 i4,12|" OF_GROUPS, "has 8 scales of a shape that none"},
        {pack, PACKED "w.weight_shape I32 2 i5,8|" OF_GROUPS, "w.weight_shape is 5 x 8"},
        {pack, PACKED "w.weight_shape I32 2 i4,-8|" OF_GROUPS, "w.weight_shape is 4 x -8"},
        {pack, PACKED SHAPE "w.weight_scale F32 4,3 f1", "has 12 scales of a shape that none"},
        {pack, PACKED SHAPE "w.weight_scale F32 8 f1", "has 8 scales of a shape that none"},
        {pack, PACKED SHAPE "w.weight_scale I32 4,2 i1", "w.weight_scale is stored as I32"},
        {pack, PACKED SHAPE "w.weight_scale F32 4,2 f1,nan", "has the scale nan for its block 7"},
        {pack, PACKED SHAPE OF_GROUPS "w.weight F32 4,8 f1", "stores the same matrix as w.weight"},
        {pack, PACKED SHAPE OF_GROUPS "w.weight_zero_point I32 1,2 i0,1",
         "has zero points, and config_groups says symmetric"},
        {pack, PACKED SHAPE OF_GROUPS "w.weight_g_idx I32 8 i1,-1", ""},
        {pack, PACKED SHAPE OF_GROUPS "w.weight_g_idx I32 8 i0",
         "w.weight_g_idx is not a choice of 2 groups of 4 columns"},
        {pack, PACKED SHAPE OF_GROUPS "w.weight_g_idx I32 8 i0,2", "is not a choice of 2 groups"},
        {pack, PACKED SHAPE OF_GROUPS "w.weight_g_idx I32 7 i0", "w.weight_g_idx holds 7 elements"},
        {pack, "w.weight_packed I32 4 i99|" SHAPE OF_GROUPS, "has scales and is not a matrix"},
        {pack, "w.weight_packed U8 4,4 z01|" SHAPE OF_GROUPS, "has no quantised matrix"},
        {zeros, PACKED SHAPE OF_GROUPS "w.weight_zero_point I32 1,2 i5", ""},
        {zeros, PACKED SHAPE OF_GROUPS, "w.weight_packed has no w.weight_zero_point beside it"},
        {zeros, PACKED SHAPE OF_GROUPS "w.weight_zero_point I32 2,1 i5",
         "w.weight_zero_point is not a matrix of 1 x 2"},
        {rows_of, ROWS "w.weight_scale F32 4,1 f1", ""},
        {rows_of, ROWS "w.weight_scale F32 4,1 f1|w.weight_zero_point I8 4,1 z00", ""},
        {rows_of, ROWS "w.weight_scale F32 4,1 f1|w.weight_zero_point I8 4,1 z01",
         "has zero points, and config_groups says symmetric"},
        {rows_of, ROWS "w.weight_scale F32 4 f1", "has 4 scales of a shape that none"},
        {rows_of, CODES "w.weight_scale F32 4,1 f1", "has 4 scales of a shape that none"},
        {rows_of, ROWS, "w.weight has no w.weight_scale beside it"},
        {GROUPS(GROUP("pack-quantized", "4,\"group_size\":4") ",\"h\":{\"format\":"
                                                              "\"pack-quantized\",\"weights\":{"
                                                              "\"num_bits\":2,\"group_size\":4}}"),
         PACKED SHAPE OF_GROUPS, "described by two of config_groups in different ways"},
        {GROUPS("\"W4A16\":[\"Linear\"]"), PACKED, "config_groups.W4A16 is not an object"},
        {SCHEME("pack-quantized", "3,\"group_size\":4"), PACKED, "num_bits is 3 (expected 2, 4"},
        {SCHEME("pack-quantized", "4,\"symmetric\":false"), PACKED, "packed weights have zero"},
        {SCHEME("pack-quantized", "4,\"strategy\":\"group\""), PACKED, "group_size is missing"},
        {SCHEME("pack-quantized", "4,\"strategy\":\"tensor_group\""), PACKED,
         "strategy is 'tensor_group'"},
        {SCHEME("pack-quantized", "4,\"group_size\":4,\"actorder\":\"group\""),
         PACKED SHAPE OF_GROUPS, "has no weight_g_idx beside it"},
        {SCHEME("float-quantized", "8,\"type\":\"float\",\"strategy\":\"block\""), CODES,
         "block_structure is not a list of two"},
        {SCHEME("float-quantized", "4,\"type\":\"float\""), CODES,
         "weights of static type 'float', 4 bits, symmetric, as float-quantized are not supported"},
        {SCHEME("nvfp4-pack-quantized", "4,\"type\":\"float\""), CODES,
         "format is 'nvfp4-pack-quantized', which is not supported"},
        {OTHERS("\"sparsity_config\":{\"format\":\"sparse-24-bitmask\"}"), PACKED,
         "sparsity_config sparse-24-bitmask is not supported"},
        {OTHERS("\"transform_config\":{\"a\":{}}"), PACKED, "transform_config is not supported"},
        {OTHERS("\"quantization_status\":\"frozen\""), PACKED, "quantization_status is 'frozen'"},
        /* GPTQ */
        {gptq, COLUMNS ZEROS, ""},
        {gptq, COLUMNS ZEROS ORDER "0", ""},
        {gptq, COLUMNS ZEROS ORDER "2", "w.g_idx holds 2 at 15 (expected a group from 0 to 1)"},
        {gptq, COLUMNS ZEROS ORDER "-1", "w.g_idx holds -1 at 15"},
        {gptq, COLUMNS ZEROS "w.g_idx I32 15 i0", "w.g_idx holds 15 elements"},
        {gptq, COLUMNS "w.qzeros I32 2,1 i-1",
         "the zero point 0 of group 0 of w.qweight is stored"},
        {GPTQ("4", ",\"checkpoint_format\":\"gptq_v2\""), COLUMNS "w.qzeros I32 2,1 i-1", ""},
        {gptq, COLUMNS, "w.qweight has no w.qzeros beside it"},
        {gptq, COLUMNS "w.qzeros I32 1,2 i7", "w.qzeros is not a matrix of 2 x 1"},
        {gptq, COLUMNS ZEROS "w.weight F32 8,16 f1", "stores the same matrix as w.weight"},
        {gptq, COLUMNS ZEROS "v.qzeros I32 2,1 i7", "v.qzeros has no quantised matrix"},
        {gptq, "w.qweight I32 2,8 i1|w.scales F32 2,7 f1|" ZEROS,
         "w.scales is not a matrix of 2 x 8 scales"},
        {gptq, "w.qweight I32 2,6 i1|w.scales F32 2,6 f1|" ZEROS, "is not a matrix of 2 x 6"},
        {gptq, "w.qweight I32 16 i1|w.scales F32 2,8 f1|" ZEROS, "is not a matrix of I32"},
        {gptq, "w.qweight I32 2,8 i1|" ZEROS, "w.qweight has no w.scales beside it"},
        {GPTQ("3", ""), COLUMNS ZEROS, "w.qweight has 2 words (expected a multiple of 3 bits)"},
        {GPTQ("4", ",\"desc_act\":true"), COLUMNS ZEROS, "has no w.g_idx beside it"},
        {GPTQ("5", ""), COLUMNS ZEROS, "bits is 5 (expected 2, 3, 4 or 8)"},
        {GPTQ("4", ",\"checkpoint_format\":\"marlin\""), COLUMNS ZEROS,
         "checkpoint_format 'marlin' is not supported (expected gptq or gptq_v2)"},
        {GPTQ("4", ",\"is_marlin_format\":true"), COLUMNS ZEROS, "is_marlin_format 'true'"},
        {GPTQ("4", ",\"dynamic\":{\"+:a\":{\"bits\":8}}"), COLUMNS ZEROS,
         "dynamic '+:a' is not supported"},
        /* AWQ */
        {awq, "w.qweight I32 16,1 i99|w.scales F32 2,8 f1|" ZEROS, ""},
        {awq, "w.qweight I32 16,1 i99|w.scales F32 1,8 f1|" ZEROS, "is not a matrix of 2 x 8"},
        {awq, "w.qweight I32 16,1 i99|w.scales F32 2,8 f1|", "has no w.qzeros beside it"},
        {AWQ("3", ""), COLUMNS, "bits is 3 (expected 4)"},
        {AWQ("4", ",\"version\":\"gemv\""), COLUMNS, "version 'gemv' is not supported"},
        {AWQ("4", ",\"zero_point\":false"), COLUMNS, "zero_point 'false' is not supported"},
        {AWQ("4", ",\"backend\":\"llm-awq\""), COLUMNS, "backend 'llm-awq' is not supported"},
    };
    check_files(rows, sizeof rows / sizeof *rows);
}

/* Codes are looked at only when a checkpoint is verified. */
static void codes_that_are_no_number_are_found(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\":\"llama\",\"quantization_config\":{\"quant_method\":\"fp8\"}}";
    struct error e = {""};
    struct verified v;
    for (int i = 0; i < 2; i++) {
        scratch_write(scratch_folder, "config.json", config, sizeof config - 1);
        struct checkpoint c = open_checkpoint(
            write_tensors(i ? "w.weight F8_E4M3 4,6 z7f|w.weight_scale_inv F32 1,1 f1"
                            : "w.weight F8_E4M3 4,6 zff|w.weight_scale_inv F32 1,1 f1"));
        tensors_find(c.tensors, "w.weight")->used = 1;
        assert_int_equal(tensors_verify(&v, c.tensors, &e), -1);
        assert_int_equal(
            check_message("NaN", &e,
                          "tensor w.weight holds |nan at [0, 0] (expected finite numbers)"),
            0);
        checkpoint_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrices_have_the_bits_of_the_packages),
                                       cmocka_unit_test(models_are_those_of_transformers),
                                       cmocka_unit_test(models_are_widened_on_request),
                                       cmocka_unit_test(files_that_lie_are_refused),
                                       cmocka_unit_test(packed_files_that_lie_are_refused),
                                       cmocka_unit_test(codes_that_are_no_number_are_found)};
    if (getenv("REACH_CUDA")) /* a run for the plug-in's sets */
        cmocka_set_test_filter("models_are_those*");
    return cmocka_run_group_tests_name("quantised checkpoints", tests, scratch_setup,
                                       scratch_teardown);
}

/* YAML settings against PyYAML's reading of them, and what is refused. */
#include "io/torch/yaml.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tests/goldens/torch/yaml.json: [[text, what PyYAML makes of it, or null where it refuses], ...]
 */
static void test_goldens(void **state)
{
    (void)state;
    json_error_t problem;
    json_t *all = json_load_file("tests/goldens/torch/yaml.json", 0, &problem);
    assert_non_null(all);
    assert_true(json_array_size(all) > 50);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i), *want = json_array_get(one, 1);
        const char *text = json_string_value(json_array_get(one, 0));
        struct error e = {""};
        json_t *found = yaml_load_memory("y", text, strlen(text), &e);
        if (json_is_null(want)) {
            if (found)
                fail_msg("%s: was accepted", text);
            assert_int_equal(check_message(text, &e, "y: "), 0);
        } else if (!found || !json_equal(found, want)) {
            char *dump = json_dumps(found, JSON_ENCODE_ANY),
                 *expected = json_dumps(want, JSON_ENCODE_ANY);
            fail_msg("%s: read as %s %s (expected %s)", text, dump ? dump : "nothing", e.text,
                     expected);
        }
        json_decref(found);
    }
    json_decref(all);
}

static void test_refused(void **state)
{
    (void)state;
    char deep[200] = "a: ";
    memset(deep + 3, '[', 60);
    memset(deep + 63, ']', 60);
    const struct {
        const char *text, *words;
    } cases[] = {
        {"", "is not a mapping"},
        {"- a\n", "is not a mapping"},
        {"text", "is not a mapping"},
        {"a: [1", "is not YAML|line"},
        {"a: !!python/object/apply:os.system ['id']", "line 1: a tag is not read|ever run"},
        {"a: !x 1", "a tag is not read"},
        {"b: 1\na: &x 1\n", "line 2: anchors and aliases are not read"},
        {"a: &x [1]\nb: *x\n", "anchors and aliases are not read"},
        {"a: 1\n---\nb: 2\n", "a second document begins"},
        {"[1, 2]: 3", "a key is not a plain name"},
        {"\"a\\0b\": 3", "a key is not a plain name"},
        {"a: \"x\\0y\"", "holds text that cannot be kept"},
        {"a: \xFF", "is not YAML"},
        {deep, "nested too deeply"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        json_t *found = yaml_load_memory("y", cases[i].text, strlen(cases[i].text), &e);
        if (found)
            fail_msg("%s: was accepted", cases[i].text);
        assert_int_equal(check_message(cases[i].text, &e, cases[i].words), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goldens),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

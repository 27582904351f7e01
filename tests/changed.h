/* A golden checkpoint with its config.json or its bytes changed, for tests. */
#ifndef REACH_TESTS_CHANGED_H
#define REACH_TESTS_CHANGED_H

#include <stddef.h>
#include <stdint.h>

/* Copies the golden into the scratch folder (tests/scratch.h) with the member at a dotted path set
 * to a value in JSON; an empty value takes it away. Returns the folder. Failures end the test. */
const char *changed(const char *golden, const char *path, const char *value);
/* Copies the files of a golden to BASE/NAME (tests/program.h), `count` elements of a tensor of its
 * model.safetensors, of 2 bytes each, set to `value`. */
void change_tensor(const char *golden, const char *name, const char *tensor, uint16_t value,
                   size_t count);
/* In the folder `from` in names of tensors becomes `to`, once in each; returns how many have it. */
int rename_tensors(const char *folder, const char *from, const char *to);
/* The config.json that lies there becomes MEMBER of one of type `outer`. */
void nest(const char *outer, const char *member);
/* One more change of the config.json that lies there. */
void change_again(const char *path, const char *value);
/* The same change as change_tensor's of the model.safetensors that lies there. */
void change_elements(const char *tensor, uint16_t value, size_t count);

/* A golden that is not read with a member of its config.json set to a value: a message with these
 * words (tests/scratch.h, check_message). */
struct refusal {
    const char *golden, *path, *value, *words;
};
void check_refused(const struct refusal *rows, size_t count);

/* A copy of a golden GGUF file in the scratch folder, with every `from` written over by `to`, of
 * the same size; one at least. TEXTS are two literals of one size, which the compiler sees to. */
const char *changed_bytes(const char *golden, const char *from, size_t size, const char *to);
#define TEXTS(from, to) from, sizeof from - sizeof(char[sizeof from == sizeof to ? 1 : -1]), to

#endif

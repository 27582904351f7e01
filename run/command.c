#include "run/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word of a command, with its quotes. */
struct span {
    const char *at;
    size_t length;
};

/* The next word after *rest; 0 at the end. */
static int next_word(struct span *word, const char **rest)
{
    const char *p = *rest + strspn(*rest, " ");
    int quoted = 0;

    word->at = p;
    for (; *p && (quoted || *p != ' '); p++)
        if (*p == '\'')
            quoted = !quoted;
        else if (*p == '\\' && !quoted && p[1])
            p++;
    word->length = (size_t)(p - word->at);
    *rest = p;
    return word->length > 0;
}

static int is_word(const struct span *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->at, text, word->length) == 0;
}

int command_words(char ***words, int *count, const char *command, struct error *e)
{
    size_t length = strlen(command), most = length / 2 + 2; /* a word and a blank */
    struct span word;
    char *to;

    *count = 0;
    *words = malloc(most * sizeof **words + length + 1);
    if (!*words)
        return fail_memory(e, (double)(most * sizeof **words), "a command");
    to = (char *)(*words + most);
    while (next_word(&word, &command)) {
        int quoted = 0;

        (*words)[(*count)++] = to;
        for (const char *p = word.at; p < word.at + word.length; p++)
            if (*p == '\'')
                quoted = !quoted;
            else
                *to++ = *p == '\\' && !quoted && p + 1 < word.at + word.length ? *++p : *p;
        *to++ = 0;
    }
    return 0;
}

const char *command_value(char *const *words, int count, const char *option)
{
    for (int i = 2; i + 1 < count; i++)
        if (strcmp(words[i], option) == 0)
            return words[i + 1];
    return NULL;
}

int command_values(struct text_list *out, char *const *words, int count, const char *option,
                   struct error *e)
{
    for (int i = 2; i + 1 < count; i++)
        if (strcmp(words[i], option) == 0 && text_list_add(out, words[i + 1], e) != 0)
            return -1;
    return 0;
}

/* The words except --shard and its value; also models, text, adapter unless `with_input`. */
static char *copy_words(const char *command, int with_input, struct error *e)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    struct span word;
    int number = 0, is_input = 1; /* models precede all options, and the text follows them */
    int failed;

    while (f && next_word(&word, &command)) {
        int is_text = is_word(&word, "--text") || is_word(&word, "--tokens") ||
                      is_word(&word, "--adapter");
        struct span value = {NULL, 0};

        if (is_text || is_word(&word, "--shard"))
            next_word(&value, &command);
        is_input = is_text || (is_input && (word.length < 2 || memcmp(word.at, "--", 2) != 0));
        if (!is_word(&word, "--shard") && (with_input || number < 2 || !is_input)) {
            fprintf(f, "%s%.*s", number ? " " : "", (int)word.length, word.at);
            if (value.length)
                fprintf(f, " %.*s", (int)value.length, value.at);
        }
        number++;
    }
    failed = !f || ferror(f);
    if ((f && fclose(f) != 0) || failed) {
        free(text);
        fail_memory(e, (double)strlen(command), "a command");
        return NULL;
    }
    return text;
}

char *command_of_run(const char *command, struct error *e)
{
    return copy_words(command, 1, e);
}

char *command_options(const char *command, struct error *e)
{
    return copy_words(command, 0, e);
}

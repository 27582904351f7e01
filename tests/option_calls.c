#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/option_calls.h"
#include "commands/commands.h"
#include "commands/erf.h"
#include "run/command.h"
#include "run/models.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int option_parse(void *options, const struct verb *v, const char *line, char *copy, struct error *e)
{
    char *argv[60];
    int argc = 0;

    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        for (char *c = word; *c; c++)
            *c = *c == '~' ? ' ' : *c;
        argv[argc++] = strcmp(word, "_") ? word : (char *)"";
    }
    return options_parse(options, v, argc, argv, e);
}

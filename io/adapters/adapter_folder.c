/* Folders of adapters, and folders that hold such. */
#include "io/adapters/adapter_folder.h"

#include "io/adapters/adapter.h"
#include "io/system/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_MAX = 400 };

char *adapter_path(const char *folder, const char *name, struct error *e)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) >= 0)
        return path;
    fail_memory(e, (double)strlen(folder), "a path");
    return NULL;
}

/* "a, b": the folders in a folder that hold adapters, in order of name; returns how many. */
static int adapters_within(char shown[SHOWN_MAX], const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort), found = 0;
    *shown = '\0';
    for (int i = 0; i < count; i++) {
        char name[sizeof entries[i]->d_name + sizeof "/" CONFIG];
        size_t at = strlen(shown);
        snprintf(name, sizeof name, "%s/" CONFIG, entries[i]->d_name);
        if (*entries[i]->d_name != '.' && path_exists(folder, name)) {
            snprintf(shown + at, SHOWN_MAX - at, "%s%s", at ? ", " : "", entries[i]->d_name);
            found++;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return found;
}

void adapter_fail_folder(const char *folder, struct error *e)
{
    char shown[SHOWN_MAX];
    int count = adapters_within(shown, folder);
    if (count)
        fail(e, "%s: holds %d adapter%s (expected %sthe path: %s)", folder, count,
             count == 1 ? "" : "s", count == 1 ? "it as " : "one of them as ", shown);
    else
        fail(e,
             "%s: holds no adapter (expected a folder with " CONFIG " and " WEIGHTS
             " or " OLDER_WEIGHTS ")",
             folder);
}

int adapter_alone(const char *folder, struct error *e)
{
    char *path = adapter_path(folder, CONFIG, e), shown[SHOWN_MAX];
    const char *name;
    struct config *config = NULL;
    int result = path ? 0 : -1;
    if (path && access(path, F_OK) && adapters_within(shown, folder))
        result = fail(e,
                      "%s: holds only adapters: %s (expected their base as the model, with one of "
                      "them as --adapter)",
                      folder, shown);
    if (path && access(path, F_OK) == 0)
        result =
            (config = config_open(path, e)) && config_string_or(config, "base_model_name_or_path",
                                                                "its base model", &name, e) == 0
                ? fail(e,
                       "%s: is only an adapter (expected %.200s as the model, with --adapter %s)",
                       folder, name, folder)
                : -1;
    config_close(config);
    free(path);
    return result;
}

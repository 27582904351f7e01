/* Folders opened through one file in them. */
#include "io/checkpoint/checkpoint.h"

#include "io/order.h"
#include "io/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHOWN_MAX = 400 };

static int is_gguf(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return *entry->d_name != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".gguf") == 0;
}

/* If the sorted names are NAME-00001-of-0000N.gguf and others of that model, N, else 0. *missing:
 * the first missing number; 0: none is missing. */
static unsigned long are_shards(unsigned long *missing, char *const *names, size_t count)
{
    char *rest;
    const char *dash = strstr(names[0], "-of-");
    size_t stem = dash && dash - names[0] > 6 && dash[-6] == '-' ? (size_t)(dash - names[0]) - 5
                                                                 : 0;
    unsigned long of = stem ? strtoul(dash + 4, NULL, 10) : 0, next = 1;
    for (size_t i = 0; i < count && of; i++) {
        if (strlen(names[i]) != strlen(names[0]) || strncmp(names[i], names[0], stem) ||
            strcmp(names[i] + stem + 5, names[0] + stem + 5))
            return 0;
        next += strtoul(names[i] + stem, &rest, 10) == next;
        if (rest != names[i] + stem + 5)
            return 0;
    }
    *missing = next <= of ? next : 0;
    return of;
}

static int choose_gguf(char **file, const char *folder, char *const *names, size_t count,
                       struct error *e)
{
    char shown[SHOWN_MAX + 8] = "";
    if (count == 0)
        return 0;
    unsigned long missing, of = are_shards(&missing, names, count);
    if (of && missing)
        return fail(e, "%s: shard %lu of %lu is missing (%s is there)", folder, missing, of,
                    names[0]);
    if (count == 1 || of)
        return asprintf(file, "%s/%s", folder, names[0]) < 0 ? *file = NULL,
                                                               fail_memory(e, 1, folder) : 0;
    for (size_t i = 0; i < count; i++) {
        if (strlen(shown) + strlen(names[i]) + 2 > SHOWN_MAX) {
            strcat(shown, ", ...");
            break;
        }
        sprintf(shown + strlen(shown), "%s%s", i ? ", " : "", names[i]);
    }
    return fail(e, "%s: holds %zu GGUF files (expected one of them as the path: %s)", folder, count,
                shown);
}

/* The only GGUF model in the folder. */
static int find_gguf(char **file, const char *folder, struct error *e)
{
    char **names = NULL;
    size_t count = 0;
    int result = 0;
    DIR *d = opendir(folder);
    if (!d)
        return fail(e, "%s: cannot be opened: %s", folder, strerror(errno));
    for (struct dirent *entry; result == 0 && (entry = readdir(d));) {
        char **grown = is_gguf(entry) ? reallocarray(names, count + 1, sizeof *names) : NULL;
        if (!is_gguf(entry))
            continue;
        names = grown ? grown : names;
        if (grown && (names[count] = strdup(entry->d_name)))
            count++;
        else
            result = fail_memory(e, (double)(count + 1) * sizeof *names, "the names of files");
    }
    closedir(d);
    if (count)
        qsort(names, count, sizeof *names, order_texts);
    if (result == 0)
        result = choose_gguf(file, folder, names, count, e);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return result;
}

int checkpoint_in_folder(char **file, const char *path, struct error *e)
{
    static const char *const nanogpt = "ckpt.pt", *const fairseq[] = {"checkpoint_best.pt",
                                                                      "checkpoint_last.pt"};
    struct stat st;
    *file = NULL;
    if (stat(path, &st) || !S_ISDIR(st.st_mode) || path_exists(path, "config.json"))
        return 0;
    for (int i = 0; i < 2 && path_exists(path, "dict.txt"); i++)
        if (path_exists(path, fairseq[i]))
            return asprintf(file, "%s/%s", path, fairseq[i]) < 0 ? *file = NULL,
                                                                   fail_memory(e, 1, path) : 0;
    if (path_exists(path, nanogpt))
        return asprintf(file, "%s/%s", path, nanogpt) < 0                           ? *file = NULL,
                                                            fail_memory(e, 1, path) : 0;
    return find_gguf(file, path, e);
}

int checkpoint_last_step(char **step, const char *folder, struct error *e)
{
    static const char *const models[] = {"model.safetensors",   "model.safetensors.index.json",
                                         "pytorch_model.bin",   "pytorch_model.bin.index.json",
                                         "adapter_config.json", "params.json",
                                         "lit_model.pth",       "latest"};
    long long last = -1, number;
    char *end;
    *step = NULL;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (path_exists(folder, models[i]))
            return 0;
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (strncmp(entry->d_name, "checkpoint-", 11) || entry->d_name[11] < '0' ||
            entry->d_name[11] > '9')
            continue;
        number = strtoll(entry->d_name + 11, &end, 10);
        last = *end == '\0' && number > last ? number : last;
    }
    if (d)
        closedir(d);
    if (last >= 0 && asprintf(step, "%s/checkpoint-%lld", folder, last) < 0) {
        *step = NULL;
        return fail_memory(e, 1, folder);
    }
    return 0;
}

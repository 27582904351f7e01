/* cgroup v1 (memory.limit_in_bytes) and v2 (memory.max, memory.high), each with the groups above:
 * the kernel's documents Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst. */
#include "io/system/memory_groups.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of a cgroup version. */
struct version {
    const char *type; /* of the mounted file system */
    const char *limits[2], *used, *cached;
};

static const struct version versions[] = {
    {"cgroup", {"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"},
    {"cgroup2", {"memory.max", "memory.high"}, "memory.current", "inactive_file"},
};

static FILE *open_below(const char *root, const char *folder, const char *name)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    return size < 0 || (size_t)size >= sizeof path ? NULL : fopen(path, "re");
}

/* The number at the start of a file; SIZE_MAX for `max`, or without such a file. */
static size_t read_number(const char *root, const char *folder, const char *name)
{
    FILE *f = open_below(root, folder, name);
    unsigned long long number;
    size_t found = SIZE_MAX;
    if (f && fscanf(f, "%llu", &number) == 1 && number < SIZE_MAX)
        found = (size_t)number;
    if (f)
        fclose(f);
    return found;
}

/* The number in a row `KEY NUMBER` of memory.stat; 0 if absent. */
static size_t read_stat(const char *root, const char *folder, const char *key)
{
    FILE *f = open_below(root, folder, "memory.stat");
    char name[64];
    unsigned long long number;
    size_t found = 0;
    while (f && !found && fscanf(f, "%63s %llu", name, &number) == 2)
        if (strcmp(name, key) == 0)
            found = (size_t)number;
    if (f)
        fclose(f);
    return found;
}

static size_t left_in(const char *root, const char *folder, const struct version *v)
{
    size_t limit = SIZE_MAX;
    for (size_t i = 0; i < sizeof v->limits / sizeof *v->limits && v->limits[i]; i++) {
        size_t each = read_number(root, folder, v->limits[i]);
        limit = each < limit ? each : limit;
    }
    if (limit > SIZE_MAX / 4) /* v1 writes `none` as the largest number of pages */
        return SIZE_MAX;
    size_t used = read_number(root, folder, v->used), cached = read_stat(root, folder, v->cached);
    if (used == SIZE_MAX)
        return SIZE_MAX;
    used -= cached < used ? cached : used;
    return limit > used ? limit - used : 0;
}

/* The least memory left in the group `path` below the mount `point`, and in all groups above it. */
static size_t left_up(const char *root, const char *point, const char *path,
                      const struct version *v)
{
    char folder[PATH_MAX];
    size_t least = SIZE_MAX, top = strlen(point);
    int size = snprintf(folder, sizeof folder, "%s%s", point, path);
    if (size < 0 || (size_t)size >= sizeof folder)
        return SIZE_MAX;
    for (char *end;; *end = '\0') {
        size_t left = left_in(root, folder, v);
        least = left < least ? left : least;
        if (!(end = strrchr(folder, '/')) || (size_t)(end - folder) < top)
            return least;
    }
}

/* 1 if `word` is in `list`, which is separated by commas. */
static int has_word(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, size) == 0 && (at[size] == '\0' || at[size] == ','))
            return 1;
    }
    return 0;
}

/* This process's group of a version, in `path`, from /proc/self/cgroup: lines
 * HIERARCHY:CONTROLLERS:PATH, for version 2 0::PATH. */
static int find_group(char path[PATH_MAX], const char *root, const struct version *v)
{
    FILE *f = open_below(root, "/proc/self", "cgroup");
    char *line = NULL;
    size_t room = 0;
    int found = 0, second = strcmp(v->type, "cgroup2") == 0;
    while (f && !found && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'),
             *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        found = (second ? !*controllers : has_word(controllers, "memory")) &&
                strlen(group) < PATH_MAX;
        if (found)
            strcpy(path, strcmp(group, "/") == 0 ? "" : group);
    }
    free(line);
    if (f)
        fclose(f);
    return found;
}

/* The mount point of a version, in `point`, and its group, in `base`, from /proc/self/mountinfo: ID
 * PARENT DEVICE BASE POINT OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS. */
static int find_mount(char point[PATH_MAX], char base[PATH_MAX], const char *root,
                      const struct version *v)
{
    FILE *f = open_below(root, "/proc/self", "mountinfo");
    char *line = NULL;
    size_t room = 0;
    int found = 0;
    while (f && !found && getline(&line, &room, f) > 0) {
        char type[32], options[256], *behind = strstr(line, " - ");
        if (strlen(line) >= PATH_MAX || !behind ||
            sscanf(behind, " - %31s %*s %255s", type, options) != 2 || strcmp(type, v->type) != 0 ||
            (strcmp(type, "cgroup") == 0 && !has_word(options, "memory")))
            continue;
        found = sscanf(line, "%*s %*s %*s %s %s", base, point) == 2;
    }
    free(line);
    if (f)
        fclose(f);
    return found;
}

size_t memory_of_groups(const char *root)
{
    char path[PATH_MAX], point[PATH_MAX], base[PATH_MAX];
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (!find_group(path, root, &versions[i]) || !find_mount(point, base, root, &versions[i]))
            continue;
        /* a container sees its own group at the mount point */
        size_t size = strcmp(base, "/") == 0 ? 0 : strlen(base);
        const char *below = strncmp(path, base, size) == 0 && (path[size] == '/' || !path[size])
                                ? path + size
                                : "";
        size_t left = left_up(root, point, below, &versions[i]);
        least = left < least ? left : least;
    }
    return least;
}

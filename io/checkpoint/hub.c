#include "io/checkpoint/hub.h"

#include "io/system/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PART_MAX = 96, REVISION_MAX = 200, PREFIX_MIN = 4, REF_BYTES_MAX = 256, SHOWN_MAX = 3 };

struct wanted {
    char repository[2 * PART_MAX + 2]; /* ORG/NAME */
    char revision[REVISION_MAX + 1]; /* "main" by default */
    int has_revision;
    char download[2 * PART_MAX + REVISION_MAX + 40]; /* the command to download it */
};

static char *text_of(struct error *e, const char *format, ...) PRINTF_LIKE(2, 3);

static char *text_of(struct error *e, const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        text = NULL;
        fail_memory(e, PATH_MAX, "a path");
    }
    va_end(arguments);
    return text;
}

/* -- names -- */

/* Length of the ORG or NAME at the start of the text, 0: none. `--` is the cache's slash. */
static size_t part_length(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) ||
           (n && text[n] && strchr("._-", text[n]) && strncmp(text + n, "--", 2)))
        n++;
    return n <= PART_MAX ? n : 0;
}

static int is_revision(const char *text)
{
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-/");
    return n && n <= REVISION_MAX && !text[n] && *text != '/' && *text != '-' &&
           text[n - 1] != '/' && !strstr(text, "..") && !strstr(text, "//") &&
           !strstr(text, "/./") && strncmp(text, "./", 2);
}

/* 0 if the text is a valid name. */
static int read_name(struct wanted *out, const char *text)
{
    size_t first = part_length(text),
           second = text[first] == '/' ? part_length(text + first + 1) : 0,
           length = first + (second ? 1 + second : 0);
    const char *revision = text[length] == '@' ? text + length + 1 : NULL;
    if (!first || (text[length] && !revision) || (revision && !is_revision(revision)))
        return -1;
    snprintf(out->repository, sizeof out->repository, "%.*s", (int)length, text);
    snprintf(out->revision, sizeof out->revision, "%s", revision ? revision : "main");
    out->has_revision = revision != NULL;
    snprintf(out->download, sizeof out->download, "hf download %s%s%s", out->repository,
             revision ? " --revision " : "", revision ? revision : "");
    return 0;
}

int hub_is_name(const char *text)
{
    struct wanted w;
    return read_name(&w, text) == 0 && strchr(w.repository, '/');
}

/* -- the cache -- */

/* The variable's value with a leading ~/ replaced, followed by `below`; NULL when it is not set. */
static char *below_variable(const char *name, const char *below, struct error *e)
{
    const char *value = getenv(name), *home = getenv("HOME");
    if (!value || !*value)
        return NULL;
    if (strncmp(value, "~/", 2) == 0 && home)
        return text_of(e, "%s%s%s", home, value + 1, below);
    return text_of(e, "%s%s", value, below);
}

static char *cache_folder(struct error *e)
{
    static const char *const places[][2] = {{"HF_HUB_CACHE", ""},
                                            {"HUGGINGFACE_HUB_CACHE", ""},
                                            {"HF_HOME", "/hub"},
                                            {"XDG_CACHE_HOME", "/huggingface/hub"},
                                            {"HOME", "/.cache/huggingface/hub"}};
    char *folder = NULL;
    fail(e, "neither HF_HOME nor HOME says where the cache of models is");
    for (size_t i = 0; i < sizeof places / sizeof *places && !folder; i++)
        folder = below_variable(places[i][0], places[i][1], e);
    return folder;
}

/* CACHE/models--ORG--NAME. */
static char *repository_folder(const struct wanted *w, struct error *e)
{
    const char *slash = strchr(w->repository, '/');
    char *cache = cache_folder(e), *folder = NULL;
    struct stat st;
    if (cache && slash)
        folder = text_of(e, "%s/models--%.*s--%s", cache, (int)(slash - w->repository),
                         w->repository, slash + 1);
    else if (cache)
        folder = text_of(e, "%s/models--%s", cache, w->repository);
    if (folder && stat(folder, &st)) {
        if (errno == ENOENT || errno == ENOTDIR)
            fail(e,
                 "%s: is neither a path nor a model in the cache %s (expected one that `%s` puts "
                 "there)",
                 w->repository, cache, w->download);
        else
            fail(e, "%s: %s", folder, strerror(errno));
        free(folder);
        folder = NULL;
    }
    free(cache);
    return folder;
}

static int is_hash(const char *text, size_t length)
{
    return (length == 40 || length == 64) && strspn(text, "0123456789abcdef") >= length;
}

/* The hash in refs/REVISION; *hash NULL, without an error, if there is no such file. */
static int read_ref(char **hash, const char *repository, const char *revision, struct error *e)
{
    char *path = text_of(e, "%s/refs/%s", repository, revision), *text = NULL;
    struct stat st;
    size_t size, length;
    int result = -1;
    *hash = NULL;
    if (!path)
        return -1;
    if (lstat(path, &st) || S_ISDIR(st.st_mode)) {
        result = 0;
    } else if ((text = file_read_whole(path, REF_BYTES_MAX, &size, e))) {
        length = strcspn(text, " \t\r\n");
        if (!is_hash(text, length) || length + strspn(text + length, " \t\r\n") != size)
            fail(e, "%s: holds no hash of a commit (expected 40 hexadecimal digits)", path);
        else if ((*hash = strndup(text, length)))
            result = 0;
        else
            fail_memory(e, (double)length, path);
    }
    free(text);
    free(path);
    return result;
}

/* The only snapshot whose hash begins with it; if there is none, the message lists the others. */
static char *find_snapshot(const struct wanted *w, const char *repository, struct error *e)
{
    char *path = text_of(e, "%s/snapshots", repository), *found = NULL, shown[SHOWN_MAX * 68] = "";
    size_t length = strlen(w->revision), matches = 0, count = 0;
    int is_prefix = length >= PREFIX_MIN && strspn(w->revision, "0123456789abcdef") == length;
    DIR *folder = path ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!is_hash(entry->d_name, strlen(entry->d_name)))
            continue;
        if (count++ < SHOWN_MAX)
            snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "%s%.64s",
                     *shown ? ", " : "", entry->d_name);
        if (!is_prefix || strncmp(entry->d_name, w->revision, length) || matches++)
            continue;
        found = strdup(entry->d_name);
    }
    if (folder)
        closedir(folder);
    if (matches > 1) {
        fail(e, "%s@%s: begins the hashes of %zu snapshots in %s (expected more digits)",
             w->repository, w->revision, matches, path);
    } else if (matches == 0 && path) {
        fail(e, "%s: has no revision %s of %s (expected one that `%s` puts there%s%s)", repository,
             w->revision, w->repository, w->download,
             count ? ", or @HASH of one of these snapshots: " : "", shown);
    } else if (matches && !found) {
        fail_memory(e, 64, path);
    }
    if (matches != 1) {
        free(found);
        found = NULL;
    }
    free(path);
    return found;
}

/* Files of an incomplete snapshot are links to nothing, or in a circle. */
static int check_snapshot(const struct wanted *w, const char *path, const char *hash,
                          struct error *e)
{
    char first[NAME_MAX + 1] = "";
    size_t files = 0;
    DIR *folder = opendir(path);
    if (!folder)
        return fail(e, "%s: cannot be opened: %s (expected the snapshot that `%s` puts there)",
                    path, strerror(errno), w->download);
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat st;
        if (*entry->d_name == '.')
            continue;
        files++;
        if (fstatat(dirfd(folder), entry->d_name, &st, 0) &&
            (!*first || strcmp(entry->d_name, first) < 0))
            snprintf(first, sizeof first, "%s", entry->d_name);
    }
    closedir(folder);
    if (files && !*first)
        return 0;
    return fail(e,
                "%s: is incomplete: %s%s (expected what `hf download %s --revision %s` puts there)",
                path, files ? "a link to nothing: " : "it holds no files", first, w->repository,
                hash);
}

char *hub_find(const char *text, struct error *e)
{
    struct wanted w;
    char *repository, *hash = NULL, *snapshot = NULL;
    if (read_name(&w, text)) {
        fail(e, "%s: is not the name of a model (expected ORG/NAME or ORG/NAME@REVISION)", text);
        return NULL;
    }
    repository = repository_folder(&w, e);
    if (repository && read_ref(&hash, repository, w.revision, e) == 0 &&
        (hash || (hash = find_snapshot(&w, repository, e))) &&
        (snapshot = text_of(e, "%s/snapshots/%s", repository, hash)) &&
        check_snapshot(&w, snapshot, hash, e)) {
        free(snapshot);
        snapshot = NULL;
    }
    free(repository);
    free(hash);
    return snapshot;
}

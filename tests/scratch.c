#include "tests/scratch.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void give_up(const char *what)
{
    perror(what);
    abort();
}

char *scratch_make(void)
{
    const char *base = getenv("TMPDIR");
    char *made;
    if (asprintf(&made, "%s/reach-test-XXXXXX", base && *base ? base : "/tmp") < 0 ||
        !mkdtemp(made))
        give_up("scratch folder");
    /* a suite that runs in the background, or under nohup, begins with these ignored */
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    return made;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void scratch_remove(char *made)
{
    if (made && nftw(made, remove_one, 16, FTW_DEPTH | FTW_PHYS))
        give_up(made);
    free(made);
}

const char *scratch_path(const char *in, const char *name)
{
    static char ring[8][4096];
    static int next;
    char *path = ring[next++ % 8];
    snprintf(path, sizeof ring[0], "%s/%s", in, name);
    return path;
}

const char *scratch_write(const char *in, const char *name, const void *data, size_t size)
{
    const char *path = scratch_path(in, name);
    unlink(path); /* a new file: file systems hurry to the disk with one that is cut to nothing and
                     written again */
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        give_up(path);
    return path;
}

char *scratch_folder;

int scratch_setup(void **state)
{
    (void)state;
    scratch_folder = scratch_make();
    return 0;
}

int scratch_teardown(void **state)
{
    (void)state;
    scratch_remove(scratch_folder);
    return 0;
}

unsigned char *scratch_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        give_up(path);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *data = malloc(*size + 1);
    if (!data || fread(data, 1, *size, f) != *size)
        give_up(path);
    fclose(f);
    return data;
}

int scratch_count(const char *in)
{
    int count = 0;
    DIR *d = opendir(in);
    if (!d)
        give_up(in);
    for (struct dirent *entry; (entry = readdir(d));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(d);
    return count;
}

int check_message(const char *what, const struct error *e, const char *words)
{
    char list[512], *rest = NULL;
    int good = *e->text && !strchr(e->text, '\n');
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok_r(list, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
        good = good && strstr(e->text, word);
    if (!good)
        fprintf(stderr, "%s: the message is '%s' (expected it to hold '%s')\n", what, e->text,
                words);
    return good ? 0 : -1;
}

static struct rlimit before;

void scratch_limit(size_t bytes)
{
    if (getrlimit(RLIMIT_FSIZE, &before))
        give_up("RLIMIT_FSIZE");
    struct rlimit limit = before;
    limit.rlim_cur = bytes;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit))
        give_up("RLIMIT_FSIZE");
}

void scratch_unlimit(void)
{
    if (setrlimit(RLIMIT_FSIZE, &before))
        give_up("RLIMIT_FSIZE");
    signal(SIGXFSZ, SIG_DFL);
}

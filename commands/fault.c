/* SIGBUS: unreadable bytes of a mapped file. Only calls functions allowed in a signal handler. */
#include "commands/fault.h"

#include "io/glyph.h"
#include "io/system/atomic.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 4096, PATH_MAX_SHOWN = 1024 };

/* One line of /proc/self/maps, read character by character: "first-end flags offset device inode
 * path". */
struct line {
    uintptr_t bound[2];
    int field; /* 0 and 1: the bounds; 2 to 5; 6: the path */
    size_t length;
    char path[PATH_MAX_SHOWN];
};

static void take(struct line *l, char c)
{
    if (l->field < 2) {
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            l->field++;
        else
            l->bound[l->field] = l->bound[l->field] << 4 | (uintptr_t)digit;
    } else if (l->field < 6) {
        l->field += c == ' ';
    } else if ((c != ' ' || l->length) &&
               l->length + 1 < sizeof l->path) { /* skip blanks before the path */
        l->path[l->length++] = c;
    }
}

/* The file mapped at an address; its path is empty if there is none. */
static void find_file(struct line *l, uintptr_t address)
{
    char piece[PIECE];
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    *l = (struct line){.field = 0};
    for (ssize_t n; maps >= 0 && (n = read(maps, piece, sizeof piece)) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            if (piece[i] != '\n') {
                take(l, piece[i]);
                continue;
            }
            if (address >= l->bound[0] && address < l->bound[1])
                return;
            *l = (struct line){.field = 0};
        }
    *l = (struct line){.field = 0};
}

static void say(const char *text, size_t length)
{
    while (length) {
        ssize_t n = write(STDERR_FILENO, text, length);
        if (n <= 0)
            return;
        text += n;
        length -= (size_t)n;
    }
}

/* Nothing here allocates, and the signal comes from mapped bytes, not from within the C library. */
static void say_path(const char *path, size_t length)
{
    struct glyph g;
    for (size_t i = 0; i < length;) {
        i += glyph_next(&g, path + i, length - i);
        say(g.text, strlen(g.text));
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    static const char
        before[] = "reach: ",
        after[] =
            ": cannot be read: the file became shorter while it was in use, or its disk failed\n";
    struct line file;
    (void)number, (void)context;
    find_file(&file, (uintptr_t)info->si_addr);
    say(before, sizeof before - 1);
    if (file.length)
        say_path(file.path, file.length);
    else
        say("a mapped file", strlen("a mapped file"));
    say(after, sizeof after - 1);
    atomic_remove_all();
    _exit(1);
}

void fault_watch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

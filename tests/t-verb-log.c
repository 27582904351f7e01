/* --log: lines of JSON with the members that doc/outputs.md lists, whatever happens to the run or
 * the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/system/file.h"
#include "tests/expected.h"
#include "tests/program.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE "doc/outputs.md"

static char *page; /* doc/outputs.md */

static int setup(void **state)
{
    struct tiny shape = {.seed = 1};
    struct error e = {""};

    (void)state;
    page = file_read_whole(PAGE, 1 << 20, &(size_t){0}, &e);
    return !page || program_open() != 0 || tiny_checkpoint(at("m"), &shape) != 0 ||
                   tiny_text(at("text"), 40000, 7) != 0
               ? -1
               : 0;
}

static int teardown(void **state)
{
    free(page);
    return program_close(state);
}

/* The lines of BASE/NAME as a list of objects; the caller frees. */
static json_t *log_of(const char *name)
{
    char *text = slurp(at("%s", name), NULL), *rest = text;
    json_t *all = json_array();

    assert_non_null(text);
    for (char *line; (line = strsep(&rest, "\n")) && rest;) {
        json_error_t error;
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        const char *key;
        json_t *value;

        if (!json_is_object(object))
            fail_msg("%s: %s: %s", name, error.text, line);
        json_object_foreach(object, key, value)
        {
            char row[80];

            snprintf(row, sizeof row, "\n| `%s` | %s |", key,
                     json_is_string(value)    ? "text"
                     : json_is_integer(value) ? "whole"
                                              : "real");
            if (!strstr(page, row) &&
                !(json_is_integer(value) &&
                  snprintf(row, sizeof row, "\n| `%s` | real |", key) > 0 && strstr(page, row)))
                fail_msg("%s has no row of `%s` as in %s", PAGE, key, line);
        }
        json_array_append_new(all, object);
    }
    assert_true(!rest || !*rest);
    free(text);
    return all;
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (!text)
        fail_msg("no %s in %s", key, json_dumps(object, 0));
    return text;
}

static double number_in(const json_t *object, const char *key)
{
    const json_t *number = json_object_get(object, key);

    if (!json_is_number(number))
        fail_msg("no %s in %s", key, json_dumps(object, 0));
    return json_number_value(number);
}

/* The first event of that name from line *from on, which becomes the line behind it. */
static const json_t *event_in(const json_t *log, const char *event, size_t *from)
{
    for (; *from < json_array_size(log); ++*from) {
        const json_t *line = json_array_get(log, *from);

        if (strcmp(text_in(line, "event"), event) == 0) {
            ++*from;
            return line;
        }
    }
    fail_msg("no %s in the log", event);
    return NULL;
}

static void a_run_is_told(void **state)
{
    struct outcome o;
    const json_t *line;
    json_t *log;
    size_t at_line = 0;

    (void)state;
    expect("erf m --text text --length 32 --segments 5 --bootstrap 20 --quiet --force --log log -o "
           "run",
           0, NULL);
    expect("erf m --text text --length 32 --segments 5 --bootstrap 20 --quiet --log log -o run", 1,
           "--force");
    expect("erf m --text text --length 32 --segments 5 --quiet --log text -o spoilt", 1,
           "text: exists and is not a log");
    log = log_of("log");
    line = event_in(log, "start", &at_line);
    assert_int_equal(at_line, 1);
    assert_string_equal(text_in(line, "verb"), "erf");
    assert_non_null(strstr(text_in(line, "command"), "--segments 5"));
    assert_int_equal(strlen(text_in(line, "time")), strlen("2026-11-22T23:59:59.000Z"));
    assert_non_null(strstr(text_in(event_in(log, "kernels", &at_line), "kernels"), "cpu"));
    line = event_in(log, "work", &at_line);
    assert_true(number_in(line, "total") == 5 && number_in(line, "done") == 0);
    line = event_in(log, "plan", &at_line);
    assert_string_equal(text_in(line, "model"), "m");
    assert_true(number_in(line, "plan_bytes") > 1000);
    do
        line = event_in(log, "progress", &at_line);
    while (number_in(line, "done") < 5);
    assert_true(number_in(line, "rate") > 0 && number_in(line, "seconds_left") == 0);
    assert_true(number_in(line, "peak_bytes") > 1e6 && number_in(line, "peak_bytes") < 1e11);
    line = event_in(log, "end", &at_line);
    assert_string_equal(text_in(line, "status"), "done");
    assert_true(number_in(line, "done") == 5 && number_in(line, "processor_seconds") > 0);
    /* the second run is appended, and says why it failed */
    assert_string_equal(text_in(json_array_get(log, at_line), "event"), "start");
    line = event_in(log, "end", &at_line);
    assert_string_equal(text_in(line, "status"), "failed");
    assert_non_null(strstr(text_in(line, "message"), "--force"));
    assert_int_equal(at_line, json_array_size(log));
    json_decref(log);

    o = reach("erf m --text text --length 32 --segments 5 --bootstrap 20 --force -o run");
    if (o.status != 0 || !strstr(o.err, "reach erf: 5 segments in ") ||
        !strstr(o.err, " segments/s, peak memory "))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    o = reach("erf m --text text --length 32 --segments 5 --bootstrap 20 --force --quiet -o run");
    assert_null(strstr(o.err, "peak memory"));
    outcome_free(&o);
}

static void an_interruption_is_told(void **state)
{
    struct outcome o = run_until_journal("erf m --text text --length 64 --segments 500 --dtype f64 "
                                         "--quiet --log stopped.log -o stopped",
                                         "stopped", SIGINT, 3000);
    size_t from = 0;
    json_t *log = log_of("stopped.log");
    const json_t *line = json_array_get(log, json_array_size(log) - 1);

    (void)state;
    assert_int_equal(o.status, 1);
    assert_string_equal(text_in(line, "event"), "end");
    assert_string_equal(text_in(line, "status"), "interrupted");
    assert_non_null(strstr(text_in(line, "message"), "--resume"));
    outcome_free(&o);
    json_decref(log);
    expect("erf m --text text --length 64 --segments 500 --dtype f64 --quiet --log again.log -o "
           "stopped --resume",
           0, NULL);
    log = log_of("again.log");
    line = event_in(log, "work", &from);
    assert_true(number_in(line, "total") == 500 && number_in(line, "done") > 0);
    json_decref(log);
}

/* Names that are not UTF-8, or that would end the text or the line. */
static void hostile_names_are_quoted(void **state)
{
    static const char name[] = "a\"b\\c\n\xff\x01\xed\xa0\x80z";
    char line[256];
    size_t from = 0;
    json_t *log;

    (void)state;
    assert_int_equal(rename(at("text"), at("%s", name)), 0);
    snprintf(line, sizeof line,
             "erf m --text %s --length 32 --segments 2 --bootstrap 0 --quiet --log hostile.log -o "
             "hostile",
             name);
    expect(line, 0, NULL);
    assert_int_equal(rename(at("%s", name), at("text")), 0);
    log = log_of("hostile.log");
    assert_non_null(strstr(text_in(event_in(log, "start", &from), "command"),
                           "a\"b\\c\n\xef\xbf\xbd\x01\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"));
    json_decref(log);
}

#define SMALL "erf m --text text --length 32 --segments 2 --bootstrap 0 --quiet "

static void logs_that_cannot_begin(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(at("unread"), 0666), 0);
    expect(SMALL "--log unread -o not", 1, "unread: is a pipe that nobody reads");
    expect(SMALL "--log . -o not", 1, "Is a directory (expected a file for the log)");
    expect(SMALL "--log some/where/1.json -o not", 1,
           "some/where/1.json: the folder some/where does not exist (expected a file in one that");
    if (access("/dev/full", W_OK) == 0)
        expect(SMALL "--log /dev/full -o not", 1,
               "/dev/full: cannot be written: No space left on device");
    assert_false(exists(at("not")));
}

/* The reader of a pipe leaves while the run goes on: results are whole, and one line says that the
 * log is not. */
static void a_reader_that_leaves(void **state)
{
    struct pollfd log;
    struct outcome o;
    char *text;
    size_t size;
    siginfo_t ended = {0};
    int writer, unread;
    pid_t child;

    (void)state;
    assert_true(mkfifo(at("left"), 0666) == 0 && mkfifo(at("slow"), 0666) == 0);
    log = (struct pollfd){.fd = open(at("left"), O_RDONLY | O_NONBLOCK | O_CLOEXEC),
                          .events = POLLIN};
    writer = open(at("slow"),
                  O_RDWR | O_CLOEXEC); /* the run waits for the text until this is closed */
    assert_true(log.fd >= 0 && writer >= 0);
    child = start(
        "erf m --text slow --length 32 --segments 2 --bootstrap 0 --quiet --log left -o left-run",
        NULL);
    assert_int_equal(poll(&log, 1, -1), 1);
    close(log.fd);
    text = slurp(at("text"), &size);
    assert_int_equal(write(writer, text, 4000), 4000);
    while (ioctl(writer, FIONREAD, &unread) == 0 && unread > 0 &&
           waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && !ended.si_pid)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    close(writer); /* not before all is read: nobody would keep it */
    o = finish(child);
    if (o.status != 1 || lines(o.err) != 1 ||
        !strstr(o.err, "left: cannot be written: Broken pipe") || !*o.out)
        fail_msg("exit %d: %s%s", o.status, o.err, o.out);
    assert_true(exists(at("left-run/erf.h5")));
    outcome_free(&o);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_told),
        cmocka_unit_test(an_interruption_is_told),
        cmocka_unit_test(hostile_names_are_quoted),
        cmocka_unit_test(logs_that_cannot_begin),
        cmocka_unit_test(a_reader_that_leaves),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SIGINT and SIGTERM in a long run: the first stops after the current batch, the second at once. */
#ifndef REACH_RUN_INTERRUPT_H
#define REACH_RUN_INTERRUPT_H

/* Handles these signals on a separate thread, for programs that compute: while oneDNN multiplies,
 * its code may point the stack pointer of a thread into the heap, and a handler on that thread
 * would overwrite data there. Call it before other threads start, since they inherit the signal
 * mask; the program's signal handlers stay as they are. If no thread can be started, nothing
 * changes. */
void interrupt_apart(void);
/* What is said to be interrupted when the program ends at once. Call it before the handlers are
 * installed. */
void interrupt_name(const char *verb);
/* Installs the handlers. */
void interrupt_watch(void);
/* The same for work that cannot stop halfway: the first signal ends the program at once, unless it
 * was ignored before. Partial files are removed, as after a second signal. */
void interrupt_end(void);
/* Between these two calls the first signal waits: while the files of a result are moved into their
 * places, so that all are there or none, and while a folder for them is made and locked. They do
 * not nest. */
void interrupt_hold(void);
void interrupt_release(void);
/* 1 after the first signal. */
int interrupt_wanted(void);

#endif

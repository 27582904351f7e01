/* SIGINT and SIGTERM during a long run: the first asks it to stop after the batch in hand, the second ends it at once. */
#ifndef REACH_RUN_INTERRUPT_H
#define REACH_RUN_INTERRUPT_H

/* Gives these signals to a thread of their own, for programs that compute: oneDNN's code points the stack pointer of a thread
 * elsewhere while it multiplies, into the heap too, and a handler that ran on that thread would write over what lies there. To be
 * called before there are other threads, which inherit that they take none; what the program does about the signals stays as it
 * is. Where no thread can be started all is as without. */
void interrupt_apart(void);
/* Installs the handlers. */
void interrupt_watch(void);
/* The same for work that cannot stop halfway: the first signal ends the program at once, unless it was ignored before. What is
 * half written is removed, as after a second. */
void interrupt_end(void);
/* Between the two the first signal waits: while the files of a result are moved into their places, so that all are there or none,
 * and while a folder for them is made and locked. */
void interrupt_hold(void);
void interrupt_release(void);
/* 1 after the first signal. */
int interrupt_wanted(void);

#endif

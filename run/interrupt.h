/* SIGINT and SIGTERM during a long run: the first asks it to stop after the batch in hand, the second ends it at once. */
#ifndef REACH_RUN_INTERRUPT_H
#define REACH_RUN_INTERRUPT_H

/* Installs the handlers. */
void interrupt_watch(void);
/* The same for work that cannot stop halfway: the first signal ends the program at once. What is half written is removed, as
 * after a second. */
void interrupt_end(void);
/* 1 after the first signal. */
int interrupt_wanted(void);

#endif

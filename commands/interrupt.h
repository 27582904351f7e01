/* SIGINT and SIGTERM during a long run: the first asks it to stop after the batch in hand, the second ends it at once. */
#ifndef REACH_COMMANDS_INTERRUPT_H
#define REACH_COMMANDS_INTERRUPT_H

/* Installs the handlers. */
void interrupt_watch(void);
/* 1 after the first signal. */
int interrupt_wanted(void);

#endif

/* The program's message when a mapped file becomes shorter, or its disk fails. */
#ifndef REACH_COMMANDS_FAULT_H
#define REACH_COMMANDS_FAULT_H

/* From now on a read of mapped bytes that no longer exist (SIGBUS) ends the program with one line
 * that names the file, and exit status 1. */
void fault_watch(void);

#endif

/* What verbs end with. */
#ifndef REACH_COMMANDS_EXIT_STATUS_H
#define REACH_COMMANDS_EXIT_STATUS_H

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#endif

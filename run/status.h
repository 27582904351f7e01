/* How a run ended, with a message where it is not done. The numbers are those of the program's exit. */
#ifndef REACH_RUN_STATUS_H
#define REACH_RUN_STATUS_H

enum run_status {
    RUN_DONE = 0,
    RUN_FAILED = 1,
    RUN_USAGE = 2 /* what was asked for is wrong: no use to try it again */
};

#endif

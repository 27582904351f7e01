/* How a run ended, with a message unless it succeeded. The numbers are exit statuses. */
#ifndef REACH_RUN_STATUS_H
#define REACH_RUN_STATUS_H

enum run_status {
    RUN_DONE = 0,
    RUN_FAILED = 1,
    RUN_USAGE = 2 /* wrong usage: a retry would fail again */
};

#endif

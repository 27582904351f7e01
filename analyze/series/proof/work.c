/* The count of what has been computed. */
#include "analyze/series/proof/work.h"

_Thread_local double work_done;

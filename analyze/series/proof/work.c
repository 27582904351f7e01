/* The count of what has been computed. */
#include "analyze/series/proof/work.h"

#include <math.h>

_Thread_local double work_done;

double work_elementary(slong prec)
{
    return 8 + 20 * pow((double)prec / 512, 1.6);
}

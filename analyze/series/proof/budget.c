/* What computing takes. */
#include "analyze/series/proof/budget.h"

#include <math.h>

double work_elementary(slong prec)
{
    return 8 + 20 * pow((double)prec / 512, 1.6);
}

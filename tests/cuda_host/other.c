/* A plug-in of another version, which a program must refuse. With NEEDS it wants a library of that
 * name's function. */
#include "kernels/plugin.h"

__attribute__((visibility("default"))) const struct plugin *reach_plugin(void);

#ifdef NEEDS
int NEEDS(void);
#endif

const struct plugin *reach_plugin(void)
{
#ifdef NEEDS
    if (NEEDS() != 1)
        return NULL;
#endif
    static const struct plugin other = {.version = PLUGIN_VERSION + 1, .bytes = sizeof other};
    return &other;
}

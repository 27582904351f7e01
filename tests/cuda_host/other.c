/* A plug-in of another version, which a program must refuse. */
#include "kernels/plugin.h"

__attribute__((visibility("default"))) const struct plugin *reach_plugin(void);

const struct plugin *reach_plugin(void)
{
    static const struct plugin other = {.version = PLUGIN_VERSION + 1, .bytes = sizeof other};
    return &other;
}

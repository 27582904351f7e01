/* The folder of an adapter. Private to io/adapters/. */
#ifndef REACH_IO_ADAPTERS_ADAPTER_FOLDER_H
#define REACH_IO_ADAPTERS_ADAPTER_FOLDER_H

#include "io/error.h"

#define CONFIG "adapter_config.json"
#define WEIGHTS "adapter_model.safetensors"
#define OLDER_WEIGHTS "adapter_model.bin"

/* The path of a file in it; caller frees. NULL with *e. */
char *adapter_path(const char *folder, const char *name, struct error *e) MUST_USE;

/* Says what a folder without adapter_config.json holds. */
void adapter_fail_folder(const char *folder, struct error *e);

#endif

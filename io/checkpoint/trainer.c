#include "io/checkpoint/trainer.h"

#include "io/checkpoint/checkpoint.h"
#include "io/formats/json.h"
#include "io/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1 if the folder holds a name of which `is` says so; the last of them in `found`, unless NULL. */
static int holds(const char *folder, int (*is)(const char *name), char found[256])
{
    DIR *d = opendir(folder);
    int count = 0;
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (is(entry->d_name)) {
            count++;
            if (found)
                snprintf(found, 256, "%s", entry->d_name);
        }
    if (d)
        closedir(d);
    return count > 0;
}

static int is_zero(const char *name)
{
    return strstr(name, "zero_pp_rank_") != NULL;
}

static int is_step(const char *name)
{
    return strncmp(name, "global_step", 11) == 0;
}

static int is_fsdp(const char *name)
{
    return strncmp(name, "pytorch_model_fsdp_", 19) == 0;
}

static int is_distributed(const char *name)
{
    size_t length = strlen(name);
    return length > 7 && strcmp(name + length - 7, ".distcp") == 0;
}

static int is_torchtune(const char *name)
{
    return strncmp(name, "torchtune_model_", 16) == 0 ||
           strcmp(name, "model-00001-of-00001.bin") == 0;
}

/* 1 if FOLDER/NAME is a configuration with a model_type. */
static int is_configured(const char *folder, const char *name)
{
    struct error e;
    char *path = path_join(folder, name, &e);
    struct config *c = path && access(path, F_OK) == 0 ? config_open(path, &e) : NULL;
    int found = c && config_has(c, "model_type");
    config_close(c);
    free(path);
    return found;
}

/* DeepSpeed's files from transformers' Trainer have a config.json in the folder, or beside the
 * step's folder; those of ZeRO are in parts, one for each rank. GPT-NeoX has both, and its settings
 * in `configs`. */
static int is_deepspeed(const char *folder)
{
    char step[256];
    int steps = holds(folder, is_step, step), parts = holds(folder, is_zero, NULL),
        settings = path_exists(folder, "configs") || path_exists(folder, "../configs");
    struct error e;
    char *below = steps ? path_join(folder, step, &e) : NULL;
    if (below) {
        parts |= holds(below, is_zero, NULL);
        settings |= path_exists(below, "configs");
    }
    free(below);
    if (settings)
        return 0;
    return parts ||
           ((steps || path_exists(folder, "mp_rank_00_model_states.pt")) &&
            (is_configured(folder, "config.json") || is_configured(folder, "../config.json")));
}

int trainer_refuse(const char *folder, struct error *e)
{
    char found[256];
    if (is_deepspeed(folder))
        fail(e,
             "%s: was saved by DeepSpeed for training to continue, not as transformers loads a "
             "model (expected model.safetensors: `python zero_to_fp32.py . OUT "
             "--safe_serialization` in the folder that has this script makes it; config.json goes "
             "with it)",
             folder);
    else if (holds(folder, is_fsdp, found))
        fail(e,
             "%s: holds the shards of FSDP, %s (expected model.safetensors: `accelerate "
             "merge-weights %s OUT` in this folder makes it; config.json goes with it)",
             folder, found, found);
    else if (holds(folder, is_distributed, NULL))
        fail(e,
             "%s: holds the shards of torch.distributed.checkpoint (expected one file: `python -m "
             "torch.distributed.checkpoint.format_utils dcp_to_torch %s pytorch_model.bin` makes "
             "it; config.json goes with it)",
             folder, folder);
    else if (holds(folder, is_torchtune, found))
        fail(e,
             "%s: holds %s in torchtune's own names of tensors (expected what its "
             "FullModelHFCheckpointer saves, or its FullModelMetaCheckpointer with params.json)",
             folder, found);
    else
        return 0;
    return 1;
}

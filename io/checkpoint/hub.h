/* Models in the cache that Hugging Face's tools keep on this machine, found by name. Nothing is ever downloaded.
 *
 * The cache is $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. A model
 * lies there in models--ORG--NAME: refs/REVISION holds the hash of a commit, snapshots/HASH its files, which are links into
 * blobs. */
#ifndef REACH_IO_CHECKPOINT_HUB_H
#define REACH_IO_CHECKPOINT_HUB_H

#include "io/error.h"

/* 1 if the text has the form ORG/NAME or ORG/NAME@REVISION. */
int hub_is_name(const char *text);

/* The snapshot of ORG/NAME[@REVISION], or of NAME[@REVISION] of a model without an organisation. REVISION is a branch or a tag
 * (default main), or a commit's hash or at least four digits that only one begins with. What is not in the cache, and a snapshot
 * with a link to nothing, are errors that say the command which gets it. NULL on failure; caller frees. */
char *hub_find(const char *text, struct error *e) MUST_USE;

#endif

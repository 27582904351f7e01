/* Models in the local cache of Hugging Face's tools, found by name. Nothing is ever downloaded.
 *
 * The cache is $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else
 * ~/.cache/huggingface/hub. A model is in models--ORG--NAME: refs/REVISION holds the hash of a
 * commit, snapshots/HASH its files, which are links into blobs. */
#ifndef REACH_IO_CHECKPOINT_HUB_H
#define REACH_IO_CHECKPOINT_HUB_H

#include "io/error.h"

/* 1 if the text has the form ORG/NAME or ORG/NAME@REVISION. */
int hub_is_name(const char *text);

/* The snapshot of ORG/NAME[@REVISION], or of NAME[@REVISION] for a model without an organisation.
 * REVISION is a branch or tag (default main), a commit's hash, or the first four or more digits of
 * just one hash. A model that is not in the cache, or a snapshot with a dangling link, is an error
 * that names the command to download it. NULL on failure; caller frees. */
char *hub_find(const char *text, struct error *e) MUST_USE;

#endif

/* The list of the verbs. */
#include "commands/commands.h"

const struct verb *const verbs[] = {&erf_verb,      &merge_verb,      &explain_verb, &ppl_verb,
                                    &trf_verb,      &bias_verb,       &fit_verb,     &plot_verb,
                                    &report_verb,   &info_verb,       &convert_verb, &tokenize_verb,
                                    &families_verb, &completion_verb, &version_verb, NULL};

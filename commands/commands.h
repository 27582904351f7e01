/* The verbs. Each takes the arguments behind its name and returns the exit status: 0 done, 1 failed, 2 wrong usage. */
#ifndef REACH_COMMANDS_COMMANDS_H
#define REACH_COMMANDS_COMMANDS_H

int main_bias(int argc, char **argv);
int main_convert(int argc, char **argv);
int main_erf(int argc, char **argv);
int main_fit(int argc, char **argv);
int main_info(int argc, char **argv);
int main_merge(int argc, char **argv);
int main_plot(int argc, char **argv);
int main_ppl(int argc, char **argv);
int main_trf(int argc, char **argv);
int main_tokenize(int argc, char **argv);
int main_version(int argc, char **argv);

#endif

/* A golden checkpoint with its config.json changed, for tests. */
#ifndef REACH_TESTS_CHANGED_H
#define REACH_TESTS_CHANGED_H

/* Copies the golden into the scratch folder (tests/scratch.h) with the member at a dotted path set to a value in JSON; an empty
 * value takes it away. Returns the folder. Failures end the test. */
const char *changed(const char *golden, const char *path, const char *value);
/* One more change of the config.json that lies there. */
void change_again(const char *path, const char *value);

#endif

/* Words that are nearly others. */
#include "io/spelling.h"

#include <string.h>

int edit_distance(const char *word, size_t length, const char *name)
{
    enum { LONGEST = 64 };
    int row[LONGEST +
            1]; /* edits from the part of the word so far to the name's first j characters */
    size_t count = strlen(name);

    if (length > LONGEST || count > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= count; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= length; i++) {
        int before = row[0]; /* in the row of i - 1, at j - 1 */

        row[0] = (int)i;
        for (size_t j = 1; j <= count; j++) {
            int changed = before + (word[i - 1] != name[j - 1]),
                other = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);

            before = row[j];
            row[j] = changed < other ? changed : other;
        }
    }
    return row[count];
}

#include "sim/marks.h"

#define MARK_WORDS(name, words) words,
static const char *const all_words[MARKS] = { MARK_LIST(MARK_WORDS) };
#undef MARK_WORDS

const char *mark_words(enum mark m)
{
    return all_words[m];
}

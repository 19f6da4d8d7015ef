#include "broker/learn/logscan_json.h"

#include "base/json.h"
#include "lake/job/job.h"

#include <math.h>
#include <string.h>

/* Numbers that JSON has no words for become empty objects of the same length, outside of texts. */
static void spell_numbers(char *line)
{
    static const char *const words[] = {"NaN", "-Infinity", "Infinity"};
    bool in_text = false;

    for (char *at = line; *at; at++) {
        if (in_text && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            in_text = !in_text;
        for (size_t i = 0; !in_text && i < sizeof words / sizeof *words; i++) {
            size_t n = strlen(words[i]);
            if (strncmp(at, words[i], n) != 0)
                continue;
            memset(at, ' ', n);
            at[0] = '{';
            at[1] = '}';
        }
    }
}

static bool is_not_a_number(const json_t *value)
{
    return json_is_object(value) && json_object_size(value) == 0;
}

bool logscan_json(char *line,
                  size_t len,
                  double ordinal,
                  void (*metric)(void *context, const char *name, double step, double value),
                  void *context)
{
    const char *name;
    json_t *value;

    if (memchr(line, 0, len))
        return false;
    spell_numbers(line);
    AUTO_JSON json_t *root = json_loads(line, 0, NULL);
    if (!json_is_object(root))
        return false;
    const json_t *given = json_object_get(root, "step");
    double step = json_is_number(given) ? json_number_value(given) : ordinal;
    json_object_foreach(root, name, value)
    {
        bool is_nan = is_not_a_number(value);
        if ((json_is_number(value) || is_nan) && strcmp(name, "step") != 0 &&
            lake_job_metric_name(name, strlen(name)))
            metric(context, name, step, is_nan ? (double)NAN : json_number_value(value));
    }
    return true;
}

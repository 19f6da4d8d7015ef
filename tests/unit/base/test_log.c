#include "base/log.h"
#include "tap.h"

#include <string.h>

/* What fn writes to stderr. */
static const char *captured(void (*fn)(void), char *out, size_t size)
{
    FILE *file = tmpfile(), *real = stderr;

    stderr = file;
    fn();
    stderr = real;
    rewind(file);
    out[fread(out, 1, size - 1, file)] = 0;
    fclose(file);
    return out;
}

static void speak(void)
{
    log_at(LOG_ERROR, "plan", "broken %d", 1);
    log_warn("plan", "odd");
    log_info("plan", "said");
    log_debug("plan", "whispered");
}

static void speak_control(void)
{
    log_warn("plan", "%s", "\033[31mred");
}

static void speak_long(void)
{
    log_warn("plan", "%02000d", 1);
}

int main(void)
{
    char out[4096];
    enum log_level level = LOG_INFO;

    CHECK(strcmp(captured(speak, out, sizeof out), "error plan: broken 1\nwarn plan: odd\n") == 0,
          "warnings and errors by default");
    log_set_level(LOG_DEBUG);
    CHECK(strstr(captured(speak, out, sizeof out), "info plan: said\ndebug plan: whispered\n"),
          "everything at debug");
    log_set_level(LOG_ERROR);
    CHECK(strcmp(captured(speak, out, sizeof out), "error plan: broken 1\n") == 0,
          "errors alone at error");
    log_set_level(LOG_WARN);
    CHECK(strcmp(captured(speak_control, out, sizeof out), "warn plan: ?[31mred\n") == 0,
          "what could steer a terminal is left out");
    CHECK(strlen(captured(speak_long, out, sizeof out)) < 1100, "a line is bounded");

    CHECK(log_level_from_text("debug", &level) == 0 && level == LOG_DEBUG, "levels have names");
    CHECK(log_level_from_text("loud", &level) == -1 && level == LOG_DEBUG, "and no others");
    return TAP_DONE();
}

/* code_text: how much code went into the lake, as a notice for people. */
#ifndef APP_CORE_CODE_TEXT_H
#define APP_CORE_CODE_TEXT_H

#include "app/core/app.h"
#include "broker/pipeline/code.h"

/* "code of src: 12 files, 34.5 KiB"; of much code the largest files as well. directory as the
 * caller knows it: where that is no name, the set stands beside it: "code of . (@code-loop:2)". */
void app_tell_code(const struct app *app, const char *directory, const struct code *code);

#endif

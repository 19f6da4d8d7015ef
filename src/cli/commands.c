#include "cli/commands.h"

#include <stddef.h>

/* Commands of one group stand together: completion counts on it. One a line. */
/* clang-format off */
const struct command *const commands[] = {
    &command_plan,
    &command_catalog_import,
    &command_catalog_info,
    &command_catalog_list,
    &command_catalog_show,
    &command_catalog_export,
    &command_catalog_update,
    &command_catalog_reset,
    &command_init,
    &command_put,
    &command_get,
    &command_cat,
    &command_session_begin,
    &command_session_status,
    &command_session_put,
    &command_session_finish,
    &command_session_abort,
    &command_ls,
    &command_log,
    &command_rm,
    &command_chmod,
    &command_chown,
    &command_set_create,
    &command_set_ls,
    &command_set_show,
    &command_set_diff,
    &command_alias,
    &command_trace,
    &command_tag,
    &command_untag,
    &command_lake_find,
    &command_pin,
    &command_gc,
    &command_fsck,
    &command_config_get,
    &command_config_set,
    &command_config_show,
    &command_completion,
    &command_help,
    NULL,
};
/* clang-format on */

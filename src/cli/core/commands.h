/* commands: the one list of commands, in the order in which help shows them. Each command is
 * defined in the file that implements it. */
#ifndef CLI_CORE_COMMANDS_H
#define CLI_CORE_COMMANDS_H

#include "cli/core/command.h"

/* TITLE(title, name) is a command that begins a group of help, COMMAND(name) any other. Commands
 * whose names begin with the same word stand together: completion counts on it. */
/* clang-format off */
#define COMMANDS(TITLE, COMMAND)                                                                   \
    TITLE("Plan", plan)                                                                            \
    COMMAND(catalog_import) COMMAND(catalog_info) COMMAND(catalog_list) COMMAND(catalog_show)      \
    COMMAND(catalog_export) COMMAND(catalog_update) COMMAND(catalog_reset)                         \
    TITLE("Run", run)                                                                              \
    COMMAND(run_ls) COMMAND(run_show) COMMAND(run_compare) COMMAND(run_stop)                       \
    COMMAND(job_submit) COMMAND(job_ls) COMMAND(job_show) COMMAND(job_logs)                        \
    COMMAND(job_metrics) COMMAND(job_compare) COMMAND(job_kill) COMMAND(job_wait)                  \
    COMMAND(job_rerun) COMMAND(job_save) COMMAND(job_rm)                                           \
    TITLE("Data", put)                                                                             \
    COMMAND(get) COMMAND(cat) COMMAND(ls) COMMAND(lake_find) COMMAND(trace) COMMAND(set_create)    \
    COMMAND(set_ls) COMMAND(set_show) COMMAND(set_diff) COMMAND(tag) COMMAND(untag)                \
    COMMAND(alias) COMMAND(log) COMMAND(url) COMMAND(rm) COMMAND(chmod) COMMAND(chown)             \
    COMMAND(session_begin) COMMAND(session_status) COMMAND(session_put)                            \
    COMMAND(session_finish) COMMAND(session_abort) COMMAND(pin) COMMAND(gc) COMMAND(fsck)          \
    COMMAND(replay) COMMAND(rerun)                                                                 \
    TITLE("Experiments", sweep)                                                                    \
    COMMAND(sweep_show) COMMAND(sweep_ls) COMMAND(profile) COMMAND(profile_show)                   \
    COMMAND(profile_ls) COMMAND(profile_predict) COMMAND(profile_fit) COMMAND(profile_import)      \
    COMMAND(profile_evaluate) COMMAND(autoprovision)                                               \
    TITLE("Markets", market_import)                                                                \
    COMMAND(market_ls) COMMAND(market_stats) COMMAND(market_tables) COMMAND(market_replay)         \
    COMMAND(market_sweep) COMMAND(policy_solve) COMMAND(policy_simulate)                           \
    TITLE("Training", geo_plan)                                                                    \
    COMMAND(geo_run) COMMAND(geo_deploy) COMMAND(geo_destroy) COMMAND(aggregate)                   \
    COMMAND(cluster_recommend) COMMAND(cluster_measure) COMMAND(cluster_run)                       \
    TITLE("Administration", init)                                                                  \
    COMMAND(config_get) COMMAND(config_set) COMMAND(config_show) COMMAND(machines_ls)              \
    COMMAND(machines_cleanup) COMMAND(clouds_check) COMMAND(bill) COMMAND(doctor) COMMAND(broker)  \
    COMMAND(mcp) COMMAND(completion) COMMAND(help)

/* The dozen that help shows first, and not again in their groups. */
#define COMMANDS_EVERYDAY(COMMAND)                                                                 \
    COMMAND(plan) COMMAND(run) COMMAND(run_ls) COMMAND(run_show) COMMAND(job_submit)               \
    COMMAND(job_ls) COMMAND(job_logs) COMMAND(sweep) COMMAND(put) COMMAND(get) COMMAND(lake_find)  \
    COMMAND(trace)
/* clang-format on */

#define COMMANDS_DECLARE(name) extern const struct command command_##name;
#define COMMANDS_DECLARE_FIRST(title, name) COMMANDS_DECLARE(name)
COMMANDS(COMMANDS_DECLARE_FIRST, COMMANDS_DECLARE)

#endif

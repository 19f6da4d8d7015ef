/* commands: what the table lists. Each command is defined in the file that implements it. */
#ifndef CLI_CORE_COMMANDS_H
#define CLI_CORE_COMMANDS_H

#include "cli/core/command.h"

extern const struct command command_plan;
extern const struct command command_catalog_import;
extern const struct command command_catalog_info;
extern const struct command command_catalog_list;
extern const struct command command_catalog_show;
extern const struct command command_catalog_export;
extern const struct command command_catalog_update;
extern const struct command command_catalog_reset;
extern const struct command command_geo_plan;
extern const struct command command_geo_run;
extern const struct command command_cluster_recommend;
extern const struct command command_cluster_run;
extern const struct command command_cluster_measure;
extern const struct command command_init;
extern const struct command command_ls;
extern const struct command command_log;
extern const struct command command_rm;
extern const struct command command_chmod;
extern const struct command command_chown;
extern const struct command command_set_create;
extern const struct command command_set_ls;
extern const struct command command_set_show;
extern const struct command command_set_diff;
extern const struct command command_alias;
extern const struct command command_trace;
extern const struct command command_tag;
extern const struct command command_untag;
extern const struct command command_lake_find;
extern const struct command command_pin;
extern const struct command command_gc;
extern const struct command command_fsck;
extern const struct command command_machines_ls;
extern const struct command command_machines_cleanup;
extern const struct command command_config_get;
extern const struct command command_config_set;
extern const struct command command_config_show;
extern const struct command command_put;
extern const struct command command_get;
extern const struct command command_cat;
extern const struct command command_url;
extern const struct command command_session_begin;
extern const struct command command_session_status;
extern const struct command command_session_put;
extern const struct command command_session_finish;
extern const struct command command_session_abort;
extern const struct command command_run;
extern const struct command command_run_ls;
extern const struct command command_run_show;
extern const struct command command_run_stop;
extern const struct command command_replay;
extern const struct command command_rerun;
extern const struct command command_doctor;
extern const struct command command_broker;
extern const struct command command_job_submit;
extern const struct command command_job_ls;
extern const struct command command_job_show;
extern const struct command command_job_logs;
extern const struct command command_job_metrics;
extern const struct command command_job_compare;
extern const struct command command_job_kill;
extern const struct command command_job_wait;
extern const struct command command_job_rerun;
extern const struct command command_profile;
extern const struct command command_profile_show;
extern const struct command command_profile_ls;
extern const struct command command_profile_predict;
extern const struct command command_profile_fit;
extern const struct command command_autoprovision;
extern const struct command command_sweep;
extern const struct command command_market_import;
extern const struct command command_market_ls;
extern const struct command command_market_stats;
extern const struct command command_market_tables;
extern const struct command command_market_replay;
extern const struct command command_market_sweep;
extern const struct command command_policy_solve;
extern const struct command command_policy_simulate;
extern const struct command command_aggregate;
extern const struct command command_completion;
extern const struct command command_help;

#endif

/* The lake's tables, as migrations of its database. lake.c and graph_table.c open databases with
 * them. */
#include "lake/core/internal.h"

/* Ids come from db_ids. Times are epoch milliseconds. Rows of other projects are never joined: what
 * a query starts from carries the project. */
static const char *const tables[] = {
    "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE project (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",

    /* One act that made versions: a put, a set creation, later a job. */
    "CREATE TABLE made (id INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " create_time INTEGER NOT NULL, creator TEXT NOT NULL)",
    "CREATE INDEX made_time ON made (project, create_time)",
    "CREATE INDEX made_creator ON made (project, creator)",

    /* Blobs of the store that hold content. */
    "CREATE TABLE blob (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, name TEXT NOT NULL)",
    "CREATE UNIQUE INDEX blob_name ON blob (project, name)",

    /* Content, once per project, for ever: gc takes away blob and at, not the row. */
    "CREATE TABLE object (id INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " sha256 BLOB NOT NULL, size INTEGER NOT NULL, blob INTEGER, at INTEGER,"
    " part_bytes INTEGER NOT NULL, parts BLOB)",
    "CREATE UNIQUE INDEX object_sha256 ON object (project, sha256)",
    "CREATE INDEX object_blob ON object (blob, at)",
    "CREATE INDEX object_size ON object (project, size)",

    /* latest: number of the newest version, removed or not, which the next one counts on from;
     * latest_version: id of the newest that was not removed (of the newest when all were).
     * removed: all versions were, by rm, until put again. mode: 0666 style. */
    "CREATE TABLE file (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, path TEXT NOT NULL,"
    " owner TEXT NOT NULL, team TEXT NOT NULL, mode INTEGER NOT NULL, latest INTEGER NOT NULL,"
    " latest_version INTEGER NOT NULL, removed INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX file_path ON file (project, path)",

    "CREATE TABLE version (id INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " file INTEGER NOT NULL, number INTEGER NOT NULL, object INTEGER NOT NULL,"
    " made INTEGER NOT NULL, executable INTEGER NOT NULL, removed INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX version_file ON version (file, number)",
    "CREATE INDEX version_object ON version (object)",
    "CREATE INDEX version_made ON version (made)",
    "CREATE INDEX version_number ON version (project, number)",

    /* latest as in file. */
    "CREATE TABLE fileset (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, name TEXT NOT NULL,"
    " owner TEXT NOT NULL, team TEXT NOT NULL, mode INTEGER NOT NULL, latest INTEGER NOT NULL,"
    " latest_version INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX fileset_name ON fileset (project, name)",
    "CREATE TABLE set_version (id INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " fileset INTEGER NOT NULL, number INTEGER NOT NULL, files INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, made INTEGER NOT NULL, removed INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX set_version_number ON set_version (fileset, number)",
    "CREATE INDEX set_version_made ON set_version (made)",
    "CREATE INDEX set_version_project ON set_version (project, number)",
    "CREATE INDEX set_version_bytes ON set_version (project, bytes)",

    /* A set version is a row of chunks, in order of the paths; equal chunks are kept once. */
    "CREATE TABLE set_chunk (id INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " hash BLOB NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " first TEXT NOT NULL, last TEXT NOT NULL, body BLOB NOT NULL)",
    "CREATE UNIQUE INDEX set_chunk_hash ON set_chunk (project, hash)",
    "CREATE TABLE set_part (set_version INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " chunk INTEGER NOT NULL, PRIMARY KEY (set_version, seq)) WITHOUT ROWID",
    "CREATE INDEX set_part_chunk ON set_part (chunk)",
    "CREATE TABLE set_alias (fileset INTEGER NOT NULL, name TEXT NOT NULL,"
    " number INTEGER NOT NULL, PRIMARY KEY (fileset, name)) WITHOUT ROWID",

    /* child was made from parent (ids of set_version). kind: enum lake_edge_kind. */
    "CREATE TABLE edge (child INTEGER NOT NULL, parent INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " job INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " PRIMARY KEY (child, parent, kind, job)) WITHOUT ROWID",
    "CREATE INDEX edge_parent ON edge (parent, child, kind, job)",

    /* kind: enum lake_item; item: id in version, file, set_version or job. value: as given;
     * number: what it compares as, epoch ms for times. slot: key, kind and kind of value in one
     * number (meta_slot), so that index rows compare in three steps; things of equal value come in
     * order of their ids. */
    "CREATE TABLE meta_key (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, name TEXT NOT NULL)",
    "CREATE UNIQUE INDEX meta_key_name ON meta_key (project, name)",
    "CREATE TABLE meta (kind INTEGER NOT NULL, item INTEGER NOT NULL, key INTEGER NOT NULL,"
    " slot INTEGER NOT NULL, number REAL, value TEXT,"
    " PRIMARY KEY (kind, item, key)) WITHOUT ROWID",
    "CREATE INDEX meta_number ON meta (slot, number, item) WHERE number IS NOT NULL",
    "CREATE INDEX meta_value ON meta (slot, value, item)",

    /* kind: enum lake_item. */
    "CREATE TABLE pin (project INTEGER NOT NULL, kind INTEGER NOT NULL, item INTEGER NOT NULL,"
    " PRIMARY KEY (project, kind, item)) WITHOUT ROWID",

    /* state: enum lake_session_state. put: the interrupted command line. request: the options that
     * the commit needs, as JSON. */
    "CREATE TABLE session (id INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " creator TEXT NOT NULL, create_time INTEGER NOT NULL, expires INTEGER NOT NULL,"
    " lasts_ms INTEGER NOT NULL, state INTEGER NOT NULL, put TEXT, request TEXT NOT NULL,"
    " set_version INTEGER)",
    "CREATE INDEX session_state ON session (project, state)",
    /* object NULL: not arrived. want_...: announced. version: once committed. */
    "CREATE TABLE session_file (session INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " path TEXT NOT NULL, want_size INTEGER, want_sha256 BLOB, target TEXT, object INTEGER,"
    " executable INTEGER NOT NULL, version INTEGER, unchanged INTEGER NOT NULL,"
    " PRIMARY KEY (session, seq)) WITHOUT ROWID",
    "CREATE UNIQUE INDEX session_file_path ON session_file (session, path)",
    "CREATE INDEX session_file_object ON session_file (object) WHERE object IS NOT NULL",

    /* Local files as last seen, so that unchanged ones need not be read again. */
    "CREATE TABLE source (path TEXT PRIMARY KEY, device INTEGER NOT NULL, inode INTEGER NOT NULL,"
    " size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,"
    " sha256 BLOB NOT NULL) WITHOUT ROWID",
    NULL,
};

/* Jobs. What is not known (yet) is NULL, so that partial indexes leave it out. */
static const char *const jobs[] = {
    /* state: enum lake_job_state. input, code: exact references ("/dir/@S:3") and the ids of their
     * set versions. output_name: as asked for; output: "@S", and "@S:4" with its set version once
     * stored. queued, changed (last), started, finished: times. stop_reason: a user asked for an
     * end. */
    "CREATE TABLE job (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, creator TEXT NOT NULL,"
    " name TEXT NOT NULL, state INTEGER NOT NULL, reason TEXT NOT NULL, stop_reason TEXT,"
    " input TEXT, input_version INTEGER, code TEXT, code_version INTEGER,"
    " output_name TEXT, output TEXT, output_version INTEGER,"
    " cpus REAL NOT NULL, memory_mb INTEGER NOT NULL, time_limit_s REAL,"
    " run INTEGER, rerun_of INTEGER, priority INTEGER NOT NULL,"
    " queued INTEGER NOT NULL, changed INTEGER NOT NULL, started INTEGER, finished INTEGER,"
    " exit_code INTEGER, runtime_s REAL, cost_microusd INTEGER, cost_basis TEXT,"
    " machine TEXT, limits TEXT)",
    /* Every list of jobs is by state and, within, by id: states are merged. */
    "CREATE INDEX job_of_state ON job (project, state)",
    "CREATE INDEX job_of_user ON job (project, state, creator)",
    "CREATE INDEX job_of_name ON job (project, name, state)",
    "CREATE INDEX job_of_run ON job (project, run, state) WHERE run IS NOT NULL",
    /* Of find; the first one: all jobs by id, without sorting. */
    "CREATE INDEX job_all ON job (project)",
    "CREATE INDEX job_queued ON job (project, queued)",
    "CREATE INDEX job_creator ON job (project, creator)",
    "CREATE INDEX job_cpus ON job (project, cpus)",
    "CREATE INDEX job_memory ON job (project, memory_mb)",
    "CREATE INDEX job_time_limit ON job (project, time_limit_s) WHERE time_limit_s IS NOT NULL",
    "CREATE INDEX job_input ON job (project, input) WHERE input IS NOT NULL",
    "CREATE INDEX job_output ON job (project, output) WHERE output IS NOT NULL",
    "CREATE INDEX job_machine ON job (project, machine) WHERE machine IS NOT NULL",
    "CREATE INDEX job_exit_code ON job (project, exit_code) WHERE exit_code IS NOT NULL",
    "CREATE INDEX job_runtime ON job (project, runtime_s) WHERE runtime_s IS NOT NULL",
    "CREATE INDEX job_cost ON job (project, (cost_microusd / 1e6))",
    /* Of rm: who uses a set version. */
    "CREATE INDEX job_input_version ON job (input_version) WHERE input_version IS NOT NULL",
    "CREATE INDEX job_code_version ON job (code_version) WHERE code_version IS NOT NULL",
    "CREATE INDEX job_output_version ON job (output_version) WHERE output_version IS NOT NULL",

    /* What never changes and may be long, so that a step of a job writes little. command: words,
     * each with a NUL at its end. details: of the broker. */
    "CREATE TABLE job_text (job INTEGER PRIMARY KEY, command BLOB NOT NULL, details TEXT NOT NULL)",
    "CREATE TABLE job_state (job INTEGER NOT NULL, seq INTEGER NOT NULL, state INTEGER NOT NULL,"
    " at INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (job, seq)) WITHOUT ROWID",

    /* Keys of the job's metadata that its output set has, too: tags that it printed. */
    "CREATE TABLE job_tag (job INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (job, key))"
    " WITHOUT ROWID",

    /* points: how many the series has. value NULL: not a number. */
    "CREATE TABLE job_series (job INTEGER NOT NULL, name TEXT NOT NULL, series INTEGER NOT NULL,"
    " points INTEGER NOT NULL, PRIMARY KEY (job, name)) WITHOUT ROWID",
    "CREATE TABLE job_metric (job INTEGER NOT NULL, series INTEGER NOT NULL, step REAL NOT NULL,"
    " value REAL, PRIMARY KEY (job, series, step)) WITHOUT ROWID",
    NULL,
};

/* Contents that gc --economic let go although sets hold them: jobs can make them again. Some may
 * be back. */
static const char *const releases[] = {
    "CREATE TABLE released (object INTEGER PRIMARY KEY)",
    NULL,
};

/* What jobs cost since a time is added up from the index alone. */
static const char *const spendings[] = {
    "CREATE INDEX job_finished ON job (project, finished, cost_microusd)"
    " WHERE finished IS NOT NULL",
    NULL,
};

/* Parameters and metrics are metadata of jobs and of their outputs. */
static const char *const experiments[] = {
    /* kind: enum job_key_kind. */
    "ALTER TABLE job_tag ADD COLUMN kind INTEGER NOT NULL DEFAULT 0",
    /* last: the value at the highest step; least, most: of all steps. untold: 1: the metadata of
     * the job lags behind, 2: and least and most must be computed again. */
    "ALTER TABLE job_series ADD COLUMN last REAL",
    "ALTER TABLE job_series ADD COLUMN last_step REAL",
    "ALTER TABLE job_series ADD COLUMN least REAL",
    "ALTER TABLE job_series ADD COLUMN most REAL",
    "ALTER TABLE job_series ADD COLUMN untold INTEGER NOT NULL DEFAULT 0",
    "UPDATE job_series SET last_step = (SELECT MAX(m.step) FROM job_metric m"
    " WHERE m.job = job_series.job AND m.series = job_series.series),"
    " least = (SELECT MIN(m.value) FROM job_metric m"
    " WHERE m.job = job_series.job AND m.series = job_series.series),"
    " most = (SELECT MAX(m.value) FROM job_metric m"
    " WHERE m.job = job_series.job AND m.series = job_series.series)",
    "UPDATE job_series SET last = (SELECT m.value FROM job_metric m WHERE m.job = job_series.job"
    " AND m.series = job_series.series AND m.step = job_series.last_step)",
    NULL,
};

/* What jobs used of their code (job_code.h). key: of everything else that decides the output of a
 * stage; NULL = the job is not found by it. Others NULL: not recorded. */
static const char *const used_code[] = {
    "CREATE TABLE code_used (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, hash BLOB NOT NULL,"
    " body BLOB NOT NULL)",
    "CREATE UNIQUE INDEX code_used_hash ON code_used (project, hash)",
    "CREATE TABLE job_code (job INTEGER PRIMARY KEY, project INTEGER NOT NULL, key BLOB,"
    " code_version INTEGER, why TEXT, names BLOB, whole BLOB, used INTEGER)",
    "CREATE INDEX job_code_key ON job_code (project, key) WHERE key IS NOT NULL",
    NULL,
};

/* 1: the output was there before the job, which made the same again. */
static const char *const reproduced[] = {
    "ALTER TABLE job ADD COLUMN reproduced INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX job_reproduced ON job (project) WHERE reproduced = 1",
    NULL,
};

/* GPUs that a job has for its own while it runs. */
static const char *const devices[] = {
    "ALTER TABLE job ADD COLUMN devices TEXT",
    NULL,
};

/* saves_later, of jobs whose output is not stored: 1 = the broker tries again. */
static const char *const unsaved[] = {
    "ALTER TABLE job ADD COLUMN saves_later INTEGER NOT NULL DEFAULT 0",
    /* What is left of jobs whose records were removed: what they cost. */
    "CREATE TABLE job_removed (job INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " creator TEXT NOT NULL, run INTEGER, cloud TEXT NOT NULL, finished INTEGER NOT NULL,"
    " cost_microusd INTEGER NOT NULL, cost_basis TEXT NOT NULL)",
    "CREATE INDEX job_removed_finished ON job_removed (project, finished, cost_microusd)",
    NULL,
};

const struct db_migration lake_migrations[] = {
    {1, tables},    {2, jobs},       {3, releases}, {4, spendings}, {5, experiments},
    {6, used_code}, {7, reproduced}, {8, devices},  {9, unsaved},   {0}};

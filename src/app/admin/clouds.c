/* clouds: the operation that checks an account of a cloud: credentials and whose they are, regions,
 * permissions, quotas. `tradewind clouds check` calls it. */
#include "app/admin/admin.h"
#include "base/mem.h"
#include "cloud/cloud.h"
#include "net/credentials.h"

#include <string.h>

/* Of requests that change nothing: they carry no tag. */
#define NO_OWNER "check"

enum which { AWS = 1, AZURE, GCP };
static const char *const clouds[] = {NULL, "aws", "azure", "gcp"};

struct check_request {
    enum which cloud;
    const char *region;
};
static const struct field check_request_fields[] = {
    {"cloud", FIELD(ENUM, struct check_request, cloud), FIELD_CHOICES(clouds), .operand = true,
     .preset = "aws", .help = "Cloud whose account is checked (default aws)."},
    {"region", FIELD(TEXT, struct check_request, region), .value = "REGION",
     .help = "Region whose network and quotas are checked; else that of the cloud's settings."},
};

struct checking {
    struct app *app;
    const char *cloud;
    const struct answer *out;
    struct field_records checks;
    bool ok;
};

static int add(struct checking *k,
               enum doctor_verdict verdict,
               const char *what,
               const char *found,
               const char *fix,
               struct err *e)
{
    const struct doctor_check c = {answer_text(k->out, e, "%s %s", k->cloud, what), verdict,
                                   answer_text(k->out, e, "%s", found),
                                   answer_text(k->out, e, "%s", fix)};

    if (!c.check || !c.found || !c.fix)
        return -1;
    k->ok = k->ok && verdict < DOCTOR_MISSING;
    app_status(k->app, "checked %s", c.check);
    return answer_push(k->out, &k->checks, &c, sizeof c, e);
}

static int add_finding(void *context, const struct cloud_finding *f, struct err *e)
{
    static const enum doctor_verdict verdicts[] = {
        [CLOUD_GOOD] = DOCTOR_OK, [CLOUD_NOTED] = DOCTOR_WARNING, [CLOUD_MISSING] = DOCTOR_MISSING};

    return add(context, verdicts[f->verdict], f->what, f->found, f->fix, e);
}

static const char *variable(void *context, const char *name)
{
    return app_variable(context, name);
}

/* The region of the settings that the cloud's own tools read; a new string. */
static char *region_of_gcp(struct app *app)
{
    const char *region = app_variable(app, "CLOUDSDK_COMPUTE_REGION");
    const char *zone = app_variable(app, "CLOUDSDK_COMPUTE_ZONE");
    const char *letter = zone ? strrchr(zone, '-') : NULL;

    if (region && *region)
        return mem_dup(region);
    return letter ? mem_printf("%.*s", (int)(letter - zone), zone) : mem_dup("us-central1");
}

static char *region_of_azure(struct app *app)
{
    const char *region = app_variable(app, "AZURE_DEFAULTS_LOCATION");

    return mem_dup(region && *region ? region : "eastus");
}

static char *region_of_aws(struct app *app)
{
    const struct credentials_sources sources = {
        .environment = variable, .context = app, .home = app_variable(app, "HOME")};
    AUTO_CLEAR(credentials) struct credentials found = {0};

    if (credentials_find(&sources, &found, NULL) < 0 || !found.region)
        return mem_dup("us-east-1");
    return mem_dup(found.region);
}

static int check_cloud(struct checking *k, const struct check_request *q, struct err *e)
{
    const char *home = app_home(k->app, e);
    static char *(*const region_of[])(struct app * app) = {
        [AWS] = region_of_aws, [AZURE] = region_of_azure, [GCP] = region_of_gcp};
    AUTO_MEM char *region = q->region ? mem_dup(q->region) : region_of[q->cloud](k->app);
    const struct cloud_options options = {.name = k->cloud,
                                          .home = home,
                                          .owner = NO_OWNER,
                                          .region = region,
                                          .outside = {.variable = variable, .context = k->app}};
    struct cloud_error why;

    if (!home)
        return -1;
    AUTO(cloud) struct cloud *c = cloud_open(&options, e);
    if (!c)
        return -1;
    if (cloud_check(c, add_finding, k, &why) == 0)
        return 0;
    /* What stops a check is its last finding. Each begins with its cloud. */
    AUTO_MEM char *prefix = mem_printf("%s: check: ", k->cloud);
    const char *text = why.err.text;
    if (strncmp(text, prefix, strlen(prefix)) == 0)
        text += strlen(prefix);
    bool is_missing = why.failure == CLOUD_AUTH || why.failure == CLOUD_PERMISSION;
    return add(k, is_missing ? DOCTOR_MISSING : DOCTOR_BROKEN,
               is_missing ? "credentials" : "answers", text, "", e);
}

/* clang-format off */
static const struct field report_fields[] = {
    {"ok", FIELD(BOOL, struct doctor_report, ok), .help = "Whether nothing is missing."},
    {"checks", FIELD(RECORDS, struct doctor_report, checks), .record = &doctor_check_record,
     .help = "All checks."},
};
/* clang-format on */

static int run(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct check_request *q = request;
    struct checking k = {.app = app, .cloud = clouds[q->cloud], .out = out, .ok = true};

    if (check_cloud(&k, q, e) < 0)
        return -1;
    return answer_head(out, &(struct doctor_report){k.ok, k.checks}, e);
}

const struct operation cloud_check_operation = {
    .name = "cloud.check",
    .summary = "Check the account of a cloud: credentials, identity, permissions, quotas.",
    .role = APP_ADMIN,
    .effect = OPERATION_READS,
    REQUEST(struct check_request, check_request_fields),
    .answer = RECORD_AT("clouds", struct doctor_report, report_fields),
    .run = run,
};

/* deploy: the commands `geo deploy` and `geo destroy`. */
#include "app/geo/geo.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <inttypes.h>
#include <stdio.h>

/* What the function has, beside the most that its platform gives. */
static void print_function(const struct app_geo_function *f, FILE *out)
{
    fprintf(out, "%s at %s: %s\n", f->name, f->location, f->product);
    fprintf(out, "  %" PRId64 " MB (at most %" PRId64 "), %" PRId64 " s (%" PRId64 "), ",
            f->memory_mb, f->max_memory_mb, f->timeout_s, f->max_timeout_s);
    if (f->disk_mb == FIELD_NONE)
        fputs("files in memory", out);
    else
        fprintf(out, "%" PRId64 " MB of files (%" PRId64 ")", f->disk_mb, f->max_disk_mb);
    fprintf(out, "; $%.3g per second, $%.2f per million invocations\n", f->second_usd,
            f->request_usd * 1e6);
}

static void print_functions(struct operate_text *t, const void *record)
{
    const struct app_geo_deployed *d = record;
    const struct app_geo_function *functions = d->functions.items;

    if (d->topology)
        fprintf(t->out, "%s: %s, %zu function%s\n", d->name, d->topology, d->functions.n,
                d->functions.n == 1 ? "" : "s");
    for (size_t i = 0; i < d->functions.n; i++)
        print_function(&functions[i], t->out);
    if (d->dry_run)
        fputs("A dry run: these calls would change something.\n", t->out);
}

static void print_resource(struct operate_text *t, const void *record)
{
    const struct app_geo_deployed_item *x = record;

    if (x->call)
        fprintf(t->out, "%s\n", x->call);
    else
        fprintf(t->out, "%-9s %-12s %s\n", x->done, x->kind, x->name);
}

static void print_end(struct operate_text *t)
{
    if (!t->n_items)
        fputs("Nothing to do.\n", t->out);
}

static const struct command_text text = {
    .head = print_functions, .item = print_resource, .end = print_end};

const struct command command_geo_deploy = {
    .name = "geo deploy",
    .operands = "FILE",
    .summary = "Deploy the aggregator of a training as a function of its cloud",
    .details =
        "Plans as `tradewind geo plan` does, takes the best placement whose function can be "
        "started by objects of its store, and makes what it needs in the cloud of that location. "
        "On AWS: an execution role with what the function needs and no more, a log group, the "
        "Lambda function, the permission for the bucket to invoke it, and a notification of the "
        "bucket for the training's inputs. On Google Cloud: a Cloud Run service with an Eventarc "
        "trigger; on Azure: a container app with an Event Grid subscription; both run the image "
        "that --image names. The file's `sites` name the stores, which must exist.\n"
        "\n"
        "Each resource carries this home's tag and is recorded before it is made. A second deploy "
        "changes nothing, or updates what differs. After Ctrl-C or a kill, deploy again, or remove "
        "what there is with `tradewind geo destroy`. A function costs nothing while no objects "
        "start it.",
    .example = "tradewind geo deploy shirts.yaml --function aws/us-west-2 --store aws/us-west-2",
    .min_operands = 1,
    .max_operands = 1,
    .operation = &geo_deploy_operation,
    .text = &text,
    .is_long = true,
};

const struct command command_geo_destroy = {
    .name = "geo destroy",
    .operands = "FILE",
    .summary = "Delete the functions of a training and what they need",
    .details =
        "Deletes every resource that `tradewind geo deploy` recorded for a training of this name, "
        "in any cloud and region, and waits until the cloud confirms that it is gone. Buckets and "
        "their objects stay, and so do other notifications of a bucket. A second destroy finds "
        "nothing to do. What cannot be deleted now stays recorded: destroy again, or `tradewind "
        "machines cleanup --yes`.",
    .example = "tradewind geo destroy shirts.yaml",
    .min_operands = 1,
    .max_operands = 1,
    .operation = &geo_destroy_operation,
    .text = &text,
    .is_long = true,
};

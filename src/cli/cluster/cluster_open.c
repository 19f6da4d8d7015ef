/* cluster_open: what the commands on clusters begin with: the file, settings of the command line
 * over it, what was measured, the catalog. */
#include "base/csv.h"
#include "base/mem.h"
#include "catalog/catalog.h"
#include "cli/cluster/cluster_parts.h"
#include "cli/core/command.h"

#include <string.h>
#include <unistd.h>

void cluster_desk_clear(struct cluster_desk *d)
{
    cluster_measured_free(d->measured);
    catalog_free(d->catalog);
    config_free(d->config);
    spec_cluster_free(d->spec);
}

static bool takes(const struct command *c, const char *option)
{
    for (const struct command_option *o = c->options; o->name; o++)
        if (!strcmp(o->name, option))
            return true;
    return false;
}

static int take_settings(struct cluster_desk *d, const struct command_args *args, struct err *e)
{
    static const struct {
        const char *option, *setting;
        bool chooses;
    } settings[] = {
        {"--budget", "budget", false},    {"--max-workers", "workers.max", false},
        {"--type", "workers.type", true}, {"--server", "server.type", true},
        {"--place", "place", true},       {"--work", "work", false},
        {"--share", "share", false},
    };

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *option = settings[i].option;
        const char *value = takes(args->command, option) ? command_value(args, option) : NULL;
        if (value && spec_cluster_set(d->spec, settings[i].setting, value, e) < 0)
            return err_wrap(e, "%s", option);
        d->chooses |= value && settings[i].chooses;
    }
    return 0;
}

int cluster_desk_read_measured(struct cluster_desk *d, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", d->config->home, CLUSTER_MEASURED_FILE);

    cluster_measured_free(d->measured);
    d->measured = NULL;
    if (!d->spec->run || access(path, F_OK) < 0)
        return 0;
    AUTO(csv) struct csv *csv = csv_open(path, CLUSTER_MEASURED_MAX_BYTES, e);
    d->measured = csv ? cluster_measured_read(csv, d->spec->run, d->spec->batch, e) : NULL;
    return d->measured ? 0 : -1;
}

int cluster_desk_open(struct cluster_desk *d, const struct command_args *args, struct err *e)
{
    const char *directory =
        takes(args->command, "--catalog") ? command_value(args, "--catalog") : NULL;

    d->spec = spec_cluster_load(args->operands[0], e);
    if (!d->spec || take_settings(d, args, e) < 0)
        return -1;
    d->config = config_load(NULL, e);
    if (!d->config || cluster_desk_read_measured(d, e) < 0)
        return -1;
    d->catalog = directory ? catalog_open_dir(directory, e) : catalog_open(d->config->home, e);
    return d->catalog ? 0 : -1;
}

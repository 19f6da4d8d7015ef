#include "cloud/boot.h"

#include "base/mem.h"

/* Agents hold locks (exec/agent/lease.c, jobdir.c): the watch over the machine one, each that runs
 * a job another. Whether a broker died right after the launch, or an agent was killed since, a
 * machine without any lock has no user. cloud-init repeats what lies in per-boot; other images do
 * so by themselves. */
static const char script[] =
    "#!/bin/sh\n"
    "cat >/run/tradewind-check <<'END'\n"
    "for lock in ~%s/.tradewind-jobs/lease.lock ~%s/.tradewind-jobs/*/lease.lock \\\n"
    "    ~%s/.tradewind-jobs/*/agent.lock ~%s/.tradewind-jobs/*/*/agent.lock; do\n"
    "    [ -e \"$lock\" ] || continue\n"
    "    flock -ns \"$lock\" true\n"
    "    [ $? -ne 1 ] || exit 0\n"
    "done\n"
    "systemctl poweroff\n"
    "END\n"
    "again=/var/lib/cloud/scripts/per-boot\n"
    "[ ! -d $again ] || [ -e $again/tradewind ] || cp \"$0\" $again/tradewind\n"
    "systemd-run --unit=tradewind-check --on-active=1h --on-unit-active=10min "
    "/bin/sh /run/tradewind-check\n";

char *cloud_boot_script(const char *login)
{
    return mem_printf(script, login, login, login, login);
}

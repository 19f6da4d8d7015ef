/* boot: the script that an instance runs as root when it boots, whatever the cloud. */
#ifndef CLOUD_BOOT_H
#define CLOUD_BOOT_H

/* Powers the machine off when no agent is there: an hour after the boot, and every ten minutes from
 * then on. login: the account that agents run as. The caller frees it. */
char *cloud_boot_script(const char *login);

#endif

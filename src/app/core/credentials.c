#include "app/core/credentials.h"

#include "base/auto.h"
#include "base/mem.h"

#include <stdlib.h>
#include <unistd.h>

const struct app_credentials app_credentials[] = {
    {"aws", "AWS_ACCESS_KEY_ID", ".aws/credentials"},
    {"gcp", "GOOGLE_APPLICATION_CREDENTIALS",
     ".config/gcloud/application_default_credentials.json"},
    {"azure", "AZURE_CLIENT_ID", ".azure/azureProfile.json"},
    {0},
};

char *app_credentials_find(const struct app_credentials *k)
{
    const char *home = getenv("HOME");
    AUTO_MEM char *file = mem_printf("%s/%s", home ? home : "", k->path);

    if (getenv(k->variable))
        return mem_printf("%s in the environment", k->variable);
    return home && access(file, R_OK) == 0 ? mem_printf("~/%s", k->path) : NULL;
}

bool app_credentials_any(void)
{
    for (const struct app_credentials *k = app_credentials; k->cloud; k++) {
        AUTO_MEM char *found = app_credentials_find(k);
        if (found)
            return true;
    }
    return false;
}

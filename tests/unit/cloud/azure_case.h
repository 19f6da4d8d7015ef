/* azure_case: what tests of machines on Azure share: the model of its Resource Manager, a home, and
 * looks at what there is. */
#ifndef CLOUD_AZURE_CASE_H
#define CLOUD_AZURE_CASE_H

#include "cloud_model.h"
#include "world.h"

#define AZURE_SIZE "Standard_NC6s_v3"

extern struct cloud_model model;
extern struct world w;

/* The model and the home, from here to there. */
void azure_case_begin(void);
void azure_case_end(void);

/* Of owner "me" in eastus; admit as in its options. */
struct cloud *open_as(const char *admit);
/* world_request in eastus, of this size, in no zone. */
struct cloud_request azure_request(const char *token);
/* How many things of each kind there are: "resource-group 2, disk 1"; good until the next call. */
const char *left(void);

/* The text at the end of names and indices, "" where there is none. */
const char *text_at(const json_t *object, const char *const *path);
#define AT(object, ...) text_at((object), (const char *const[]){__VA_ARGS__, NULL})

#endif

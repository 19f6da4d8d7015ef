/* gpus: the GPUs of this machine as nvidia-smi and rocm-smi list them, and how many of which type a
 * job asks for. */
#ifndef BROKER_CORE_GPUS_H
#define BROKER_CORE_GPUS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define GPUS_LISTED_MAX 64
/* That one job may ask for: more than any machine has. */
#define GPUS_WISH_MAX 1024

struct gpu {
    char id[16];      /* "nvidia:0", "amd:1": the vendor, and the number that its tool gives */
    char name[80];    /* as its tool names it: "NVIDIA A100-SXM4-40GB" */
    char uuid[64];    /* "GPU-8f6d..."; "" = not asked for */
    double memory_mb; /* 0 = not known */
};

struct gpus {
    struct gpu list[GPUS_LISTED_MAX];
    size_t n;
    char trouble[300]; /* why there are not more: a tool that is there and failed; "" = nothing */
};

/* Asks both tools, found by $PATH, for a bounded time. A tool that is missing, fails, hangs or
 * prints anything else adds no GPU. uuids: nvidia-smi is asked for those, too. go_on is asked a few
 * times a second; false ends the tool. */
void gpus_find(struct gpus *out, bool uuids, bool (*go_on)(void *context), void *context);

/* What the tools print; pure. False: it is no list of GPUs, and nothing was added. */
bool gpus_read_nvidia(const char *csv, struct gpus *out);
bool gpus_read_uuids(const char *csv, struct gpus *out);
bool gpus_read_rocm(const char *json, struct gpus *out);

/* Keeps those of the vendor ("nvidia", "amd") that a variable such as CUDA_VISIBLE_DEVICES leaves
 * visible: "0,2", "GPU-8f6d", "" or "-1" for none; as with CUDA, the first that is not there ends
 * the list. visible NULL: all. */
void gpus_narrow(struct gpus *g, const char *vendor, const char *visible);

/* "2 x NVIDIA A100-SXM4-40GB, 1 x Tesla T4 (CUDA_VISIBLE_DEVICES leaves 3 of 4)", "no GPU". */
void gpus_put(const struct gpus *g, struct buf *out);

/* ---- what is asked for ---- */

struct gpus_wish {
    unsigned n;    /* all of one type; 0 = none */
    char type[64]; /* "A100"; "" = any */
};

/* "2", "A100:2", "A100" (one). ERR_USAGE. */
int gpus_wish_read(const char *text, struct gpus_wish *out, struct err *e);
/* "2 GPUs", "A100:2"; out is returned. */
const char *gpus_wish_text(const struct gpus_wish *w, char out[static 80]);
/* "A100" is "NVIDIA A100-SXM4-40GB", "A100-80GB" is not. */
bool gpus_is_type(const struct gpu *g, const char *type);
/* Whether a type that the user names is one of AMD: "MI300X", "Radeon". */
bool gpus_is_amd(const char *type);
/* Leaves those of the wished type, and says whether so many nodes can have theirs at once, each
 * from one type. */
bool gpus_choose(struct gpus *g, const struct gpus_wish *w, unsigned nodes);

/* ---- as texts, in records ---- */

/* "nvidia:0 NVIDIA A100-SXM4-40GB" */
struct gpu_text {
    char text[sizeof((struct gpu *)0)->id + sizeof((struct gpu *)0)->name];
};
struct gpu_text gpus_text(const struct gpu *g);
/* Length of the id at the start of such a text, and its type, which is the rest. */
size_t gpus_id_length(const char *text);
const char *gpus_type_of(const char *text);
/* Whether the list "nvidia:0,nvidia:1" has the id at the start of text. */
bool gpus_has(const char *list, const char *text);
/* The numbers of one vendor in such a list: "0,1"; "" = there are none. */
void gpus_put_numbers(const char *list, const char *vendor, struct buf *out);

#endif

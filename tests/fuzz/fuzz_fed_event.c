/* Any bytes as a message of events: what is taken has a bucket and a key. */
#include "fed/event.h"
#include "fed/round.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {NULL, "google.cloud.storage.object.v1.finalized",
                                        "Microsoft.Storage.BlobCreated"};
    struct fed_input_key key;
    struct err e = {0};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct fed_events events = {0};
        int result = fed_events_read(&events, types[i], "/containers/c/blobs/k", (const char *)data,
                                     size, &e);
        assert(result == 0 || (e.kind == ERR_USAGE && *e.text && !events.all));
        for (size_t k = 0; k < events.n; k++) {
            char back[FED_ROUND_KEY];
            assert(events.all[k].bucket && events.all[k].key);
            if (fed_round_parse(events.all[k].key, &key))
                assert(fed_round_input_key(&key, back, NULL) == 0 &&
                       strcmp(back, events.all[k].key) == 0);
        }
        fed_events_clear(&events);
    }
    return 0;
}

/* internal: what the files of web/mcp share.
 *
 *     mcp.c      messages: reading, dispatching, answering, progress and cancelling
 *     tools.c    operations as tools: their list, their calls, what has to be confirmed first */
#ifndef WEB_MCP_INTERNAL_H
#define WEB_MCP_INTERNAL_H

#include "app/core/operation.h"

/* Requests that an assistant was shown the cost of and may confirm. */
#define MCP_SHOWN_MAX 16
#define MCP_TOKEN_BYTES 17

struct mcp_shown {
    char token[MCP_TOKEN_BYTES]; /* "" = free */
    char *request;               /* the tool and its arguments as text */
};

struct mcp_tools {
    struct app *app;
    bool allow_write;
    struct mcp_shown shown[MCP_SHOWN_MAX];
    size_t next_shown;
    json_t *notices; /* of the call at hand: an array of strings */
};

void mcp_tools_clear(struct mcp_tools *t);
/* The result of tools/list. New reference. */
json_t *mcp_tools_list(const struct mcp_tools *t);
/* The result of tools/call, failed operations included; NULL: there is no such tool. */
json_t *mcp_tools_call(struct mcp_tools *t, const char *name, const json_t *arguments);

#endif

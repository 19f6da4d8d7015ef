/* mcp: the Model Context Protocol over a pair of descriptors: assistants call operations as tools.
 * Messages are lines of JSON-RPC 2.0. Tools come from the table of operations. */
#ifndef WEB_MCP_MCP_H
#define WEB_MCP_MCP_H

#include "base/err.h"

#include <stdbool.h>

struct mcp_options {
    int in, out;
    /* All operations are tools. Otherwise only those are that a viewer may call and that change
     * nothing. */
    bool allow_write;
};

/* Answers until the other side has closed `in` and every request has its answer, or until stop says
 * so, which ends the call at hand as well. An assistant's mistakes are answers of the protocol; -1
 * is an error of reading or writing. */
int mcp_serve(const struct mcp_options *options, bool (*stop)(void), struct err *e);

#endif

/* The built-in figures of docs/market.md: data/market-*.csv as they are. */
    .macro figures name, path
    .globl \name
    .globl \name\()_end
    .hidden \name
    .hidden \name\()_end
    .type \name, %object
\name:
    .incbin "\path"
\name\()_end:
    .size \name, . - \name
    .endm

    .section .rodata.market_builtin, "a", %progbits
    figures market_on_demand_builtin, data/market-on-demand.csv
    figures market_sizes_builtin, data/market-sizes.csv
    figures market_egress_builtin, data/market-egress.csv
    .section .note.GNU-stack, "", %progbits

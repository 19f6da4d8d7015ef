/* The built-in facts about functions, stores, links and machines: data/geo-*.csv as they are. */
    .macro facts name, file
    .section .rodata.\name, "a", %progbits
    .globl \name
    .globl \name\()_end
    .hidden \name
    .hidden \name\()_end
    .type \name, %object
\name:
    .incbin "\file"
\name\()_end:
    .size \name, . - \name
    .endm
    facts geo_functions_builtin, data/geo-functions.csv
    facts geo_stores_builtin, data/geo-stores.csv
    facts geo_links_builtin, data/geo-links.csv
    facts geo_machines_builtin, data/geo-machines.csv
    .section .note.GNU-stack, "", %progbits

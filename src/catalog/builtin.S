/* The built-in catalog: a snapshot made from data/ when the program is built. */
    .section .rodata.catalog_builtin, "a", %progbits
    .balign 64
    .globl catalog_builtin
    .globl catalog_builtin_end
    .hidden catalog_builtin
    .hidden catalog_builtin_end
    .type catalog_builtin, %object
catalog_builtin:
    .incbin SNAPSHOT
catalog_builtin_end:
    .size catalog_builtin, . - catalog_builtin
    .section .note.GNU-stack, "", %progbits

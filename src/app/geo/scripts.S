/* The programs of workers and functions: src/app/geo/*.sh as they are, each ended by a zero. */
    .macro script name, file
    .section .rodata.\name, "a", %progbits
    .globl \name
    .hidden \name
    .type \name, %object
\name:
    .incbin "\file"
    .byte 0
    .size \name, . - \name
    .endm
    script app_geo_worker_script, src/app/geo/worker.sh
    script app_geo_function_script, src/app/geo/function.sh
    .section .note.GNU-stack, "", %progbits

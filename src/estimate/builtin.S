/* The built-in throughput table, as the bytes of its CSV. */
    .section .rodata
    .global throughputs_builtin
    .global throughputs_builtin_end
throughputs_builtin:
    .incbin "data/throughputs.csv"
throughputs_builtin_end:
    .byte 0

    .section .note.GNU-stack,"",%progbits

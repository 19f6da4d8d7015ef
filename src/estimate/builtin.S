/* The built-in throughput figures: data/throughputs.csv as it is. */
    .section .rodata.throughputs_builtin, "a", %progbits
    .globl throughputs_builtin
    .globl throughputs_builtin_end
    .hidden throughputs_builtin
    .hidden throughputs_builtin_end
    .type throughputs_builtin, %object
throughputs_builtin:
    .incbin "data/throughputs.csv"
throughputs_builtin_end:
    .size throughputs_builtin, . - throughputs_builtin
    .section .note.GNU-stack, "", %progbits

/* The built-in table of images: data/images.csv as it is. */
    .section .rodata.cloud_images_builtin, "a", %progbits
    .globl cloud_images_builtin
    .globl cloud_images_builtin_end
    .hidden cloud_images_builtin
    .hidden cloud_images_builtin_end
    .type cloud_images_builtin, %object
cloud_images_builtin:
    .incbin "data/images.csv"
cloud_images_builtin_end:
    .size cloud_images_builtin, . - cloud_images_builtin
    .section .note.GNU-stack, "", %progbits

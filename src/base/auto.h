/* auto: release at the end of the scope, so that error paths are plain returns. */
#ifndef BASE_AUTO_H
#define BASE_AUTO_H

/* AUTO(x) struct x *p = ...; calls x_free(p) when p leaves its scope; AUTO_DEFINE(x) stands
 * in x's header. TAKE(p) hands p over and leaves NULL behind. */
#define AUTO(type) __attribute__((cleanup(type##_auto_free)))
#define AUTO_DEFINE(type)                                                                          \
    static inline void type##_auto_free(struct type **p)                                           \
    {                                                                                              \
        type##_free(*p);                                                                           \
    }
#define TAKE(p)                                                                                    \
    __extension__({                                                                                \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

/* AUTO_CLEAR(x) struct x v; calls x_clear(&v) at the end of the scope. */
#define AUTO_CLEAR(type) __attribute__((cleanup(type##_clear)))

/* AUTO_MEM char *s = mem_dup(...); frees plain memory at the end of the scope. */
#define AUTO_MEM __attribute__((cleanup(auto_free_mem)))
void auto_free_mem(void *p);

/* AUTO_FD int fd = open(...); closes a descriptor that is not negative; errno stays. */
#define AUTO_FD __attribute__((cleanup(auto_close_fd)))
void auto_close_fd(int *fd);

#endif

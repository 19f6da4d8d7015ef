/* wan: a wide-area network on one machine. Every host is a network namespace with a TUN device, and
 * this program carries what they send each other: packets between two regions wait for their turn
 * at the rate of that way, then for its delay. Hosts of one region reach each other at once.
 *
 *     wan CONFIG SOCKET    carries until SIGTERM; "ready" on standard output when all hosts are up
 *     wan show SOCKET      what was carried so far, by one that runs
 *
 * CONFIG has a line for each host and for each ordered pair of regions:
 *
 *     host NAMESPACE ADDRESS REGION          ADDRESS is of WAN_NET, as in 10.78.1.2
 *     link FROM TO MBPS DELAY_MS QUEUE_KB    one way; a full queue drops what comes
 *     marker TEXT                            packets that carry it are counted; one word
 *
 * Counters, a line for each ordered pair, that of a region with itself too: FROM TO, then packets,
 * bytes (with IP headers), payload (what TCP and UDP carry), dropped packets, the payload that TCP
 * did not send before (it repeats what was dropped, and what it takes for that on a busy machine),
 * and packets with the marker. What counts is what enters the way. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define HOSTS_MAX 64
#define REGIONS_MAX 16
#define NAME_MAX_BYTES 32
#define WAN_NET 0x0a4e0000u /* 10.78.0.0/16 */
#define WAN_MASK 0xffff0000u
#define DEVICE "wan0"
/* As long as the kernel lets a device hold packets that we did not read yet. */
#define DEVICE_QUEUE 2000
/* Before every packet stands what the kernel needs to cut it up: senders hand over up to 64 kB at a
 * time, which is a tenth of the work. */
#define VNET_HEADER 10
#define PACKET_MAX (VNET_HEADER + 65536)
/* Packets read from one host before others have their turn. */
#define READ_MAX 32
/* Within a region: never full, so to speak. */
#define HOME_QUEUE_BYTES ((uint64_t)64 << 20)
#define NS_PER_S 1000000000ull
/* Ways of TCP connections that were seen; a power of two. */
#define FLOWS_MAX 65536u

struct packet {
    struct packet *next;
    uint64_t due_ns;
    size_t len;
    unsigned to; /* host */
    char bytes[];
};

/* One way between two regions. */
struct way {
    bool exists;
    double bytes_per_s; /* 0 = at once */
    uint64_t delay_ns, queue_bytes;
    struct packet *head, *tail;
    uint64_t waiting_bytes, free_at_ns;
    uint64_t packets, bytes, payload, dropped, fresh, marked;
};

/* One way of a TCP connection. */
struct flow {
    unsigned char key[12]; /* addresses and ports, as they stand in packets */
    bool used;
    uint32_t next; /* behind the last byte that came */
};

struct host {
    char space[NAME_MAX_BYTES];
    uint32_t address; /* in the order of the host */
    unsigned region;
    int fd;
};

struct wan {
    struct host hosts[HOSTS_MAX];
    unsigned n_hosts;
    char regions[REGIONS_MAX][NAME_MAX_BYTES];
    unsigned n_regions;
    struct way ways[REGIONS_MAX][REGIONS_MAX];
    struct flow flows[FLOWS_MAX];
    unsigned n_flows;
    char marker[NAME_MAX_BYTES];
    int events, door;
};

static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

_Noreturn static void fail(const char *what, const char *which)
{
    fprintf(stderr, "wan: %s %s%s%s\n", what, which, errno ? ": " : "",
            errno ? strerror(errno) : "");
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- the file ---- */

static unsigned region_of(struct wan *w, const char *name)
{
    for (unsigned i = 0; i < w->n_regions; i++)
        if (strcmp(w->regions[i], name) == 0)
            return i;
    if (w->n_regions == REGIONS_MAX)
        fail("too many regions:", name);
    struct way *home = &w->ways[w->n_regions][w->n_regions];
    home->exists = true;
    home->queue_bytes = HOME_QUEUE_BYTES;
    snprintf(w->regions[w->n_regions], NAME_MAX_BYTES, "%s", name);
    return w->n_regions++;
}

static void read_host(struct wan *w, const char *line)
{
    char space[NAME_MAX_BYTES], address[NAME_MAX_BYTES], region[NAME_MAX_BYTES];
    struct in_addr a;

    if (w->n_hosts == HOSTS_MAX || sscanf(line, "host %31s %31s %31s", space, address, region) != 3)
        fail("bad host, or too many:", line);
    if (inet_aton(address, &a) == 0 || (ntohl(a.s_addr) & WAN_MASK) != WAN_NET)
        fail("no address of this network:", line);
    struct host *h = &w->hosts[w->n_hosts++];
    snprintf(h->space, sizeof h->space, "%s", space);
    h->address = ntohl(a.s_addr);
    h->region = region_of(w, region);
}

static void read_link(struct wan *w, const char *line)
{
    char from[NAME_MAX_BYTES], to[NAME_MAX_BYTES];
    double mbps, delay_ms, queue_kb;

    if (sscanf(line, "link %31s %31s %lf %lf %lf", from, to, &mbps, &delay_ms, &queue_kb) != 5 ||
        !(mbps > 0) || !(delay_ms >= 0) || !(queue_kb > 0))
        fail("bad link:", line);
    struct way *way = &w->ways[region_of(w, from)][region_of(w, to)];
    way->exists = true;
    way->bytes_per_s = mbps * 1e6 / 8;
    way->delay_ns = (uint64_t)(delay_ms * 1e6);
    way->queue_bytes = (uint64_t)(queue_kb * 1000);
}

static void read_marker(struct wan *w, const char *line)
{
    if (sscanf(line, "marker %31s", w->marker) != 1)
        fail("bad marker:", line);
}

static void read_config(struct wan *w, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[256];

    if (!f)
        fail("open", path);
    errno = 0;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "host ", 5) == 0)
            read_host(w, line);
        else if (strncmp(line, "link ", 5) == 0)
            read_link(w, line);
        else if (strncmp(line, "marker ", 7) == 0)
            read_marker(w, line);
        else if (line[0] && line[0] != '#')
            fail("neither host nor link nor marker:", line);
    }
    fclose(f);
}

/* ---- devices ---- */

static void set_address(const struct host *h)
{
    struct ifreq r = {.ifr_name = DEVICE};
    struct sockaddr_in *a = (struct sockaddr_in *)&r.ifr_addr;
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    a->sin_family = AF_INET;
    a->sin_addr.s_addr = htonl(h->address);
    if (s < 0 || ioctl(s, SIOCSIFADDR, &r) < 0)
        fail("set the address of", h->space);
    a->sin_addr.s_addr = htonl(WAN_MASK);
    if (ioctl(s, SIOCSIFNETMASK, &r) < 0)
        fail("set the mask of", h->space);
    r.ifr_qlen = DEVICE_QUEUE;
    if (ioctl(s, SIOCSIFTXQLEN, &r) < 0)
        fail("set the queue of", h->space);
    r.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(s, SIOCSIFFLAGS, &r) < 0)
        fail("bring up", h->space);
    close(s);
}

static void open_host(struct host *h, int home)
{
    struct ifreq r = {.ifr_name = DEVICE};
    char path[64];

    snprintf(path, sizeof path, "/run/netns/%s", h->space);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) < 0)
        fail("enter namespace", h->space);
    close(space);
    h->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    r.ifr_flags = (short)(IFF_TUN | IFF_NO_PI | IFF_VNET_HDR);
    if (h->fd < 0 || ioctl(h->fd, TUNSETIFF, &r) < 0)
        fail("make a device for", h->space);
    /* Where the kernel does not want to, it cuts packets up itself. */
    ioctl(h->fd, TUNSETOFFLOAD, (unsigned long)(TUN_F_CSUM | TUN_F_TSO4));
    set_address(h);
    if (setns(home, CLONE_NEWNET) < 0)
        fail("come back from", h->space);
}

static struct sockaddr_un socket_address(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof a.sun_path)
        fail("name of a socket is too long:", path);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    return a;
}

static void watch(struct wan *w, int fd, uint32_t which)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = which};

    if (epoll_ctl(w->events, EPOLL_CTL_ADD, fd, &e) < 0)
        fail("watch", "a descriptor");
}

static void open_all(struct wan *w, const char *socket_path)
{
    struct sockaddr_un a = socket_address(socket_path);
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

    w->events = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < w->n_hosts; i++) {
        open_host(&w->hosts[i], home);
        watch(w, w->hosts[i].fd, i);
    }
    close(home);
    unlink(socket_path);
    w->door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (w->door < 0 || bind(w->door, (struct sockaddr *)&a, sizeof a) < 0 ||
        listen(w->door, 16) < 0)
        fail("listen at", socket_path);
    watch(w, w->door, HOSTS_MAX);
}

/* ---- carrying ---- */

/* Of an IPv4 packet. */
static uint64_t payload_of(const unsigned char *ip, size_t len)
{
    size_t header = (size_t)(ip[0] & 15) * 4;

    if (ip[9] == IPPROTO_TCP && len >= header + 20)
        header += (size_t)(ip[header + 12] >> 4) * 4;
    else if (ip[9] == IPPROTO_UDP)
        header += 8;
    else
        return 0;
    return len > header ? len - header : 0;
}

static uint32_t number_at(const unsigned char *bytes)
{
    uint32_t n;

    memcpy(&n, bytes, sizeof n);
    return ntohl(n);
}

static struct flow *flow_of(struct wan *w, const unsigned char *ip, const unsigned char *tcp)
{
    unsigned char key[12];
    uint32_t hash = 2166136261u; /* FNV-1a */

    memcpy(key, ip + 12, 8);
    memcpy(key + 8, tcp, 4);
    for (size_t i = 0; i < sizeof key; i++)
        hash = (hash ^ key[i]) * 16777619u;
    struct flow *f = &w->flows[hash % FLOWS_MAX];
    while (f->used && memcmp(f->key, key, sizeof key) != 0)
        f = &w->flows[(size_t)(f - w->flows + 1) % FLOWS_MAX];
    if (f->used)
        return f;
    errno = 0;
    if (++w->n_flows == FLOWS_MAX)
        fail("too many", "connections");
    *f = (struct flow){.used = true, .next = number_at(tcp + 4)};
    memcpy(f->key, key, sizeof key);
    return f;
}

/* Of the payload, what was not sent before: it may be dropped, and comes again. */
static uint64_t fresh_of(struct wan *w, const unsigned char *ip, size_t len)
{
    size_t header = (size_t)(ip[0] & 15) * 4;
    uint64_t payload = payload_of(ip, len);
    const unsigned char *tcp = ip + header;

    if (ip[9] != IPPROTO_TCP || len < header + 20)
        return payload;
    struct flow *f = flow_of(w, ip, tcp);
    uint32_t sequence = number_at(tcp + 4), syn = tcp[13] >> 1 & 1;
    if (syn)
        f->next = sequence + 1; /* ports are used again */
    uint32_t end = sequence + syn + (uint32_t)payload, beyond = end - f->next;
    if (beyond == 0 || beyond > INT32_MAX)
        return 0;
    f->next = end;
    return beyond < payload ? beyond : payload;
}

static int host_at(const struct wan *w, uint32_t address)
{
    for (unsigned i = 0; i < w->n_hosts; i++)
        if (w->hosts[i].address == address)
            return (int)i;
    return -1;
}

static void enqueue(struct wan *w, struct way *way, unsigned to, const char *bytes, size_t len)
{
    uint64_t now = now_ns(), start = way->free_at_ns > now ? way->free_at_ns : now;
    size_t ip_len = len - VNET_HEADER;

    way->packets++;
    way->fresh += fresh_of(w, (const unsigned char *)bytes + VNET_HEADER, ip_len);
    way->marked += w->marker[0] && memmem(bytes, len, w->marker, strlen(w->marker));
    if (way->waiting_bytes + ip_len > way->queue_bytes) {
        way->dropped++;
        return;
    }
    way->bytes += ip_len;
    way->payload += payload_of((const unsigned char *)bytes + VNET_HEADER, ip_len);
    if (way->bytes_per_s > 0)
        start += (uint64_t)((double)ip_len / way->bytes_per_s * (double)NS_PER_S);
    way->free_at_ns = start;
    struct packet *p = malloc(sizeof *p + len);
    if (!p)
        fail("no memory for", "a packet");
    *p = (struct packet){.due_ns = start + way->delay_ns, .len = len, .to = to};
    memcpy(p->bytes, bytes, len);
    way->waiting_bytes += ip_len;
    if (way->tail)
        way->tail->next = p;
    else
        way->head = p;
    way->tail = p;
}

static void take_from(struct wan *w, const struct host *from)
{
    static char bytes[PACKET_MAX];

    for (int i = 0; i < READ_MAX; i++) {
        ssize_t n = read(from->fd, bytes, sizeof bytes);
        if (n < 0)
            return;
        const unsigned char *ip = (unsigned char *)bytes + VNET_HEADER;
        if (n < VNET_HEADER + 20 || ip[0] >> 4 != 4)
            continue;
        uint32_t address;
        memcpy(&address, ip + 16, sizeof address);
        int to = host_at(w, ntohl(address));
        struct way *way = to < 0 ? NULL : &w->ways[from->region][w->hosts[to].region];
        if (way && way->exists)
            enqueue(w, way, (unsigned)to, bytes, (size_t)n);
    }
}

/* Returns when the next one is due. */
static uint64_t deliver(struct wan *w, struct way *way, uint64_t now)
{
    while (way->head && way->head->due_ns <= now) {
        struct packet *p = way->head;
        if (write(w->hosts[p->to].fd, p->bytes, p->len) < 0)
            way->dropped++;
        way->head = p->next;
        if (!way->head)
            way->tail = NULL;
        way->waiting_bytes -= p->len - VNET_HEADER;
        free(p);
    }
    return way->head ? way->head->due_ns : UINT64_MAX;
}

static uint64_t deliver_all(struct wan *w)
{
    uint64_t now = now_ns(), next = now + NS_PER_S;

    for (unsigned i = 0; i < w->n_regions; i++)
        for (unsigned k = 0; k < w->n_regions; k++) {
            uint64_t due = deliver(w, &w->ways[i][k], now);
            next = due < next ? due : next;
        }
    return next;
}

static void answer(const struct wan *w)
{
    int guest = accept4(w->door, NULL, NULL, SOCK_CLOEXEC);

    if (guest < 0)
        return;
    for (unsigned i = 0; i < w->n_regions; i++)
        for (unsigned k = 0; k < w->n_regions; k++) {
            const struct way *way = &w->ways[i][k];
            if (way->exists)
                dprintf(guest, "%s %s %lu %lu %lu %lu %lu %lu\n", w->regions[i], w->regions[k],
                        way->packets, way->bytes, way->payload, way->dropped, way->fresh,
                        way->marked);
        }
    close(guest);
}

static void carry(struct wan *w)
{
    while (!is_over) {
        struct epoll_event events[HOSTS_MAX + 1];
        uint64_t next = deliver_all(w), now = now_ns(), wait = next > now ? next - now : 0;
        struct timespec t = {(time_t)(wait / NS_PER_S), (long)(wait % NS_PER_S)};
        int n = epoll_pwait2(w->events, events, HOSTS_MAX + 1, &t, NULL);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u32 == HOSTS_MAX)
                answer(w);
            else
                take_from(w, &w->hosts[events[i].data.u32]);
        }
    }
}

static int show(const char *path)
{
    struct sockaddr_un a = socket_address(path);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char bytes[4096];
    ssize_t n;

    if (s < 0 || connect(s, (struct sockaddr *)&a, sizeof a) < 0)
        fail("reach", path);
    while ((n = read(s, bytes, sizeof bytes)) > 0)
        fwrite(bytes, 1, (size_t)n, stdout);
    close(s);
    return 0;
}

int main(int argc, char **argv)
{
    static struct wan w;

    if (argc != 3) {
        fprintf(stderr, "usage: wan CONFIG SOCKET | wan show SOCKET\n");
        return 2;
    }
    if (strcmp(argv[1], "show") == 0)
        return show(argv[2]);
    signal(SIGTERM, end);
    signal(SIGINT, end);
    signal(SIGPIPE, SIG_IGN);
    read_config(&w, argv[1]);
    open_all(&w, argv[2]);
    puts("ready");
    fflush(stdout);
    carry(&w);
    return 0;
}

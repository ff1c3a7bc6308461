// epoll and eventfd: Swift's Glibc module exports neither.
// Every function returns a value >= 0, or the negated errno.
#pragma once

#include <stdint.h>

enum {
    GATEWAY_EPOLL_READ = 1,
    GATEWAY_EPOLL_WRITE = 2,
    // The peer hung up or the socket failed; reported without being asked for.
    GATEWAY_EPOLL_FAILED = 4,
    // Edge-triggered; also reports the peer's end.
    GATEWAY_EPOLL_EDGE = 8,
    // The peer will send no more; reported to those who are edge-triggered.
    GATEWAY_EPOLL_ENDING = 16,
};

typedef struct {
    uint64_t token;
    uint32_t ready;
} gateway_epoll_event;

int gateway_epoll_create(void);
int gateway_epoll_add(int epoll, int descriptor, uint32_t interest, uint64_t token);
int gateway_epoll_modify(int epoll, int descriptor, uint32_t interest, uint64_t token);
int gateway_epoll_remove(int epoll, int descriptor);

// Waits at most `milliseconds` (-1: for ever) and fills at most `capacity` events. An interrupting signal counts as "nothing ready".
int gateway_epoll_wait(int epoll, gateway_epoll_event *events, int capacity, int milliseconds);

// The same in nanoseconds, which need Linux 5.11; before, they are rounded up to milliseconds.
int gateway_epoll_wait_finely(int epoll, gateway_epoll_event *events, int capacity, int64_t nanoseconds);

int gateway_eventfd_create(void);
int gateway_eventfd_signal(int descriptor);
int gateway_eventfd_clear(int descriptor);

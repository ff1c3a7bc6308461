#define _GNU_SOURCE
#include "epoll_shims.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LARGEST_BATCH = 256 };

static int result_or_errno(int result) {
    return result < 0 ? -errno : result;
}

static int control(int epoll, int operation, int descriptor, uint32_t interest, uint64_t token) {
    struct epoll_event event = {.events = 0, .data.u64 = token};
    if (interest & GATEWAY_EPOLL_READ) event.events |= EPOLLIN;
    if (interest & GATEWAY_EPOLL_WRITE) event.events |= EPOLLOUT;
    if (interest & GATEWAY_EPOLL_EDGE) event.events |= EPOLLET | EPOLLRDHUP;
    return result_or_errno(epoll_ctl(epoll, operation, descriptor, &event));
}

int gateway_epoll_create(void) {
    return result_or_errno(epoll_create1(EPOLL_CLOEXEC));
}

int gateway_epoll_add(int epoll, int descriptor, uint32_t interest, uint64_t token) {
    return control(epoll, EPOLL_CTL_ADD, descriptor, interest, token);
}

int gateway_epoll_modify(int epoll, int descriptor, uint32_t interest, uint64_t token) {
    return control(epoll, EPOLL_CTL_MOD, descriptor, interest, token);
}

int gateway_epoll_remove(int epoll, int descriptor) {
    return control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0);
}

static int handed_on(const struct epoll_event *ready, int count, gateway_epoll_event *events) {
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        uint32_t flags = 0;
        if (ready[i].events & EPOLLIN) flags |= GATEWAY_EPOLL_READ;
        if (ready[i].events & EPOLLOUT) flags |= GATEWAY_EPOLL_WRITE;
        if (ready[i].events & EPOLLRDHUP) flags |= GATEWAY_EPOLL_ENDING;
        if (ready[i].events & (EPOLLERR | EPOLLHUP)) flags |= GATEWAY_EPOLL_FAILED;
        events[i] = (gateway_epoll_event){.token = ready[i].data.u64, .ready = flags};
    }
    return count;
}

int gateway_epoll_wait(int epoll, gateway_epoll_event *events, int capacity, int milliseconds) {
    struct epoll_event ready[LARGEST_BATCH];
    int count = epoll_wait(epoll, ready, capacity < LARGEST_BATCH ? capacity : LARGEST_BATCH, milliseconds);
    return handed_on(ready, count, events);
}

int gateway_epoll_wait_finely(int epoll, gateway_epoll_event *events, int capacity, int64_t nanoseconds) {
    struct epoll_event ready[LARGEST_BATCH];
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    int count = epoll_pwait2(epoll, ready, capacity < LARGEST_BATCH ? capacity : LARGEST_BATCH, nanoseconds < 0 ? NULL : &time, NULL);
    if (count < 0 && errno == ENOSYS) {
        int milliseconds = nanoseconds < 0 ? -1 : (int)((nanoseconds + 999999) / 1000000);
        return gateway_epoll_wait(epoll, events, capacity, milliseconds);
    }
    return handed_on(ready, count, events);
}

int gateway_eventfd_create(void) {
    return result_or_errno(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

// EAGAIN means the counter is at its maximum: the reader is awake anyway.
int gateway_eventfd_signal(int descriptor) {
    return eventfd_write(descriptor, 1) < 0 && errno != EAGAIN ? -errno : 0;
}

int gateway_eventfd_clear(int descriptor) {
    eventfd_t count;
    return eventfd_read(descriptor, &count) < 0 && errno != EAGAIN ? -errno : 0;
}

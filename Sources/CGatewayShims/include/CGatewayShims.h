// The few lines that Swift cannot reach: one header and one source file for each reason.
#pragma once

#include "epoll_shims.h"
#include "heap_shims.h"
#include "thread_shims.h"

"""Requests at a rate beside the load generator's streams."""
import asyncio
import collections
import selectors
import threading
import time

# Open at once. select(2) takes descriptors below 1,024.
CONNECTIONS = 400


def run(work):
    """Runs a coroutine on a loop that waits by select(2). asyncio's epoll rounds each wait up to whole milliseconds, which makes requests late by 0.7 ms
    (median of an idle machine; 0.2 by select), and an answer's time counts from when its request was due."""
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        return runner.run(work)


async def pace(rate, seconds, connect, send):
    """Sends requests at a rate, independent of the answers: one that waits for a free connection is late, which counts. `connect()` opens a
    connection, which is kept; `send(connection, number)` returns a function that is called with the seconds since the request was due."""
    # In turn, so that none is idle for so long that the server closes it.
    idle, running, free, began = collections.deque(), set(), asyncio.Semaphore(CONNECTIONS), time.perf_counter()

    async def one(number):
        async with free:
            connection = idle.popleft() if idle else await connect()
            record = await send(connection, number)
            record(time.perf_counter() - began - number / rate)
            idle.append(connection)
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0, began + number / rate - time.perf_counter()))
        task = asyncio.ensure_future(one(number))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    for connection in idle:
        connection[1].close()


def beside(testbed, peer, workload, delay, work):
    """Runs the workload, and `work()`, a coroutine, from `delay` seconds after its begin. Returns the workload's figures."""
    failures = []

    def work_later():
        time.sleep(delay)
        try:
            run(work())
        except BaseException as error:
            failures.append(error)
    thread = threading.Thread(target=work_later, daemon=True)
    thread.start()
    figures = testbed.run(peer, workload)
    # A replay of billing events is faster when the streams have ended.
    thread.join(timeout=240)
    if failures or thread.is_alive():
        raise SystemExit(f"requests beside the streams: {failures or 'did not end'}")
    return figures

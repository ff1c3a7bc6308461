"""Requests at a rate beside the load generator's streams."""
import asyncio
import collections
import threading
import time


async def pace(rate, seconds, connect, send):
    """Sends requests at a rate, independent of the answers: one that waits for a free connection is late, which counts. `connect()` opens a
    connection, which is kept; `send(connection, number)` returns a function that is called with the seconds since the request was due."""
    # In turn, so that none is idle for so long that the server closes it.
    idle, running, began = collections.deque(), set(), time.perf_counter()

    async def one(number):
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

    def run():
        time.sleep(delay)
        try:
            asyncio.run(work())
        except BaseException as error:
            failures.append(error)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    figures = testbed.run(peer, workload)
    # A replay of billing events is faster when the streams have ended.
    thread.join(timeout=240)
    if failures or thread.is_alive():
        raise SystemExit(f"requests beside the streams: {failures or 'did not end'}")
    return figures

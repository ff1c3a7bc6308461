"""aiohttp: one session, whose pool all workers share. It repeats a GET on a lost connection by itself, a POST never."""
import asyncio

import aiohttp

import turns


async def work(session, worker):
    for body, lists in turns.bodies(worker):
        try:
            async with session.post(turns.CHAT, data=body, headers=turns.headers(worker)) as answer:
                turns.turn_ended(answer.status, await answer.read())
            if lists:
                async with session.get(turns.CONVERSATIONS, headers=turns.headers(worker)) as answer:
                    await answer.read()
                    turns.list_ended(answer.status)
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            turns.failed(error)


async def main():
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        await asyncio.gather(*(work(session, worker) for worker in range(turns.WORKERS)))


asyncio.run(main())
turns.report()

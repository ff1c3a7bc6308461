"""httpx: one client, whose pool all workers share. Nothing is repeated by it."""
import asyncio

import httpx

import turns


async def work(client, worker):
    for body, lists in turns.bodies(worker):
        try:
            answer = await client.post(turns.CHAT, content=body, headers=turns.headers(worker))
            turns.turn_ended(answer.status_code, answer.content)
            if lists:
                turns.list_ended((await client.get(turns.CONVERSATIONS, headers=turns.headers(worker))).status_code)
        except httpx.HTTPError as error:
            turns.failed(error)


async def main():
    async with httpx.AsyncClient(timeout=30) as client:
        await asyncio.gather(*(work(client, worker) for worker in range(turns.WORKERS)))


asyncio.run(main())
turns.report()

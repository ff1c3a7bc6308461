"""requests: one session a worker. Nothing is repeated by it."""
import threading

import requests

import turns


def work(worker):
    with requests.Session() as session:
        for body, lists in turns.bodies(worker):
            try:
                answer = session.post(turns.CHAT, data=body, headers=turns.headers(worker), timeout=30)
                turns.turn_ended(answer.status_code, answer.content)
                if lists:
                    turns.list_ended(session.get(turns.CONVERSATIONS, headers=turns.headers(worker), timeout=30).status_code)
            except requests.RequestException as error:
                turns.failed(error)


threads = [threading.Thread(target=work, args=(worker,)) for worker in range(turns.WORKERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
turns.report()

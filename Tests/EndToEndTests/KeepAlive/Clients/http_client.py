"""Python's http.client: one connection a worker, used again for as long as the answers allow."""
import http.client
import threading
from urllib.parse import urlsplit

import turns


def work(worker):
    address = urlsplit(turns.URL)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    # It opens a new connection only after an answer that announced its end.
    for body, lists in turns.bodies(worker):
        try:
            connection.request("POST", turns.CHAT[len(turns.URL):], body, turns.headers(worker))
            answer = connection.getresponse()
            turns.turn_ended(answer.status, answer.read())
            if lists:
                connection.request("GET", turns.CONVERSATIONS[len(turns.URL):], headers=turns.headers(worker))
                answer = connection.getresponse()
                answer.read()
                turns.list_ended(answer.status)
        except (OSError, http.client.HTTPException) as error:
            turns.failed(error)
            connection.close()


threads = [threading.Thread(target=work, args=(worker,)) for worker in range(turns.WORKERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
turns.report()

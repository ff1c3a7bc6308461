"""A stand-in for a store's API. POST /set {path, status, headers, body} says what a path answers; GET /journal what was asked.

Other paths answer 404. Prints its port first.
"""
import http.server
import json
import threading
import time

answers, requests, lock = {}, [], threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/journal":
            with lock:
                return self.reply(200, {}, json.dumps(requests).encode())
        return self.stub(b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/set":
            answer = json.loads(body)
            with lock:
                answers[answer["path"]] = answer
            return self.reply(200, {}, json.dumps(time.monotonic()).encode())
        return self.stub(body)

    def stub(self, body):
        with lock:
            requests.append({
                "method": self.command, "path": self.path, "authorization": self.headers.get("Authorization"), "body": body.decode(),
                "at": time.monotonic(), "headers": {name.lower(): value for name, value in self.headers.items()}})
            answer = answers.get(self.path, {"status": 404, "body": "{}"})
        self.reply(answer["status"], answer.get("headers", {}), answer["body"].encode())

    def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()

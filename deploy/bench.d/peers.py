"""What stands between the clients and the provider. Each is started anew for each run, so none has another's past."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import machine

NGINX = """
daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 65536;
error_log {folder}/nginx.log warn;
pid {folder}/nginx.pid;
events {{ worker_connections 40000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/nginx-body;
    proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi;
    uwsgi_temp_path {folder}/nginx-uwsgi;
    scgi_temp_path {folder}/nginx-scgi;
    keepalive_requests 1000000;
    upstream provider {{ server 127.0.0.1:{provider}; keepalive 12000; keepalive_requests 1000000; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://provider;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout 75s;
        }}
    }}
}}
"""

HAPROXY = """
global
    nbthread 1
    maxconn {connections}
defaults
    mode http
    option http-no-delay
    timeout connect 1s
    timeout client 75s
    timeout server 75s
frontend clients
    bind 127.0.0.1:{port} backlog 4096
    default_backend provider
backend provider
    server provider 127.0.0.1:{provider}
"""


class Peer:
    """`kind` is what the load generator speaks to it; `child` is the process whose account is read, None for none."""
    kind = "openai"
    has_database = False

    def __init__(self, stage):
        self.stage = stage

    def start(self, workload):
        self.port, self.child = self.stage.provider_port, None

    def stop(self):
        if self.child:
            self.child.stop()

    def load_arguments(self):
        return []

    def log(self, name):
        return self.stage.folder / f"{name}.log"


class Bare(Peer):
    name = "bare"


class Nginx(Peer):
    name = "nginx"

    def start(self, workload):
        self.port = machine.free_port()
        file = self.stage.folder / "nginx.conf"
        # The folder belongs to whoever runs this; a worker of another user could not write there.
        user = "user root;" if os.getuid() == 0 else ""
        file.write_text(NGINX.format(user=user, folder=self.stage.folder, provider=self.stage.provider_port, port=self.port))
        self.child = machine.Child(self.name, [self.stage.options.nginx, "-c", str(file), "-p", str(self.stage.folder)], self.log("nginx-out"))
        self.child.wait_until(lambda: machine.listens(self.port))


class HAProxy(Peer):
    name = "haproxy"

    def start(self, workload):
        self.port = machine.free_port()
        file = self.stage.folder / "haproxy.cfg"
        file.write_text(HAPROXY.format(connections=machine.most_streams(), provider=self.stage.provider_port, port=self.port))
        self.child = machine.Child(self.name, [self.stage.options.haproxy, "-db", "-f", str(file)], self.log("haproxy"))
        self.child.wait_until(lambda: machine.listens(self.port))


class Gateway(Peer):
    """The whole product on PostgreSQL, with its own files but for the limits: a user of a benchmark asks more than a person."""
    name = "gateway"
    kind = "gateway"
    has_database = True
    secret = "0123456789abcdef0123456789abcdef"
    prepared = False

    def start(self, workload):
        self.port = machine.free_port()
        environment = {
            "PATH": os.environ["PATH"], "COACH_ENV": "development", "COACH_ROOT": str(self.root()),
            "COACH_PORT": str(self.port), "COACH_METRICS_LISTEN": "off",
            "COACH_STATE_DIR": str(self.stage.folder / "state"), "COACH_JWT_SECRET": self.secret, "COACH_DATABASE_PASSWORD": "bench",
            "COACH_MIGRATION_URL": f"postgres://{self.stage.options.database}",
            "DATABASE_URL": "postgres://coach_gateway:bench@" + self.stage.options.database.partition("@")[2],
            "COACH_SIMULATOR_URL": f"http://127.0.0.1:{self.stage.provider_port}",
        }
        if workload.streams > 1500:
            environment["COACH_MAX_TURNS"] = str(workload.streams + 500)
        executable = self.stage.options.executable
        if not Gateway.prepared:
            for command in ("migrate", "seed"):
                done = subprocess.run([executable, command], env=environment, capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr}{done.stdout}")
            Gateway.prepared = True
        self.child = machine.Child(self.name, [executable, "serve"], self.log("gateway"), environment)
        self.child.wait_until(lambda: machine.get(self.port, "/readyz")[0] == 200)

    def load_arguments(self):
        return ["--secret", self.secret]

    def root(self):
        root = self.stage.folder / "root"
        if not root.exists():
            checkout = Path(self.stage.options.root)
            (root / "deploy").mkdir(parents=True)
            for name in ("db", "prompts", "domains"):
                (root / name).symlink_to(checkout / name)
            for name in ("models.json", "prices.json"):
                shutil.copy(checkout / "deploy" / name, root / "deploy" / name)
            limits = json.loads((checkout / "deploy/limits.json").read_text())
            limits["requests_per_minute"] = 1_000_000
            limits["tiers"]["free"] |= {"messages_per_day": 1_000_000, "concurrent_turns": 100}
            (root / "deploy/limits.json").write_text(json.dumps(limits))
        return root


ALL = {peer.name: peer for peer in (Bare, Nginx, HAProxy, Gateway)}

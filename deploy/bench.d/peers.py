"""What stands between the clients and the provider. Each is started anew for each run, so none has another's past."""
import json
import os
import shutil
import subprocess
from dataclasses import replace
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
    proxy_ssl_trusted_certificate {authority};
    proxy_ssl_verify on;
    proxy_ssl_name localhost;
    proxy_ssl_protocols TLSv1.2 TLSv1.3;
    proxy_ssl_session_reuse on;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass {scheme}://provider;
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
    server provider 127.0.0.1:{provider} {tls}
"""

LITELLM = """
model_list:
  - model_name: gpt-4.1-mini
    litellm_params: {{ model: openai/gpt-4.1-mini, api_base: "http://127.0.0.1:{provider}/v1", api_key: bench }}
litellm_settings: {{ num_retries: 0, request_timeout: 120, telemetry: false }}
"""


class Unavailable(Exception):
    """A peer that is not ours does not start here: the rest is measured without it."""


class Peer:
    """`kind` is what the load generator speaks to it; `child` is the process whose account is read, None for none."""
    kind = "openai"
    has_database = False
    # Workloads that say something about it; None: all.
    meets = None
    child = None

    def __init__(self, stage):
        self.stage = stage

    def start(self, workload):
        self.port, self.child = self.stage.provider_port, None

    def stop(self):
        if self.child:
            self.child.stop()

    def load_arguments(self):
        return []

    def adapted(self, workload):
        """The workload as this peer can bear it."""
        return workload

    def upstream(self, workload):
        return self.stage.secure_port if workload.secure else self.stage.provider_port

    def log(self, name):
        return self.stage.folder / f"{name}.log"


class Bare(Peer):
    name = "bare"
    # The load generator speaks no TLS; what never waits tells nothing about heartbeats.
    meets = ("paced", "saturation", "packed", "ttft", "crowd")


class Nginx(Peer):
    name = "nginx"
    meets = ("paced", "tls", "saturation", "packed", "ttft", "idle", "crowd")

    def start(self, workload):
        self.port = machine.free_port()
        file = self.stage.folder / "nginx.conf"
        # The folder belongs to whoever runs this; a worker of another user could not write there.
        user = "user root;" if os.getuid() == 0 else ""
        file.write_text(NGINX.format(
            user=user, folder=self.stage.folder, provider=self.upstream(workload), port=self.port, authority=self.stage.certificate,
            scheme="https" if workload.secure else "http"))
        self.child = machine.Child(self.name, [self.stage.options.nginx, "-c", str(file), "-p", str(self.stage.folder)], self.log("nginx-out"))
        self.child.wait_until(lambda: machine.listens(self.port))


class HAProxy(Peer):
    name = "haproxy"
    meets = ("paced", "tls", "saturation", "packed", "ttft", "idle", "crowd")

    def start(self, workload):
        self.port = machine.free_port()
        file = self.stage.folder / "haproxy.cfg"
        tls = f"ssl ca-file {self.stage.certificate} verify required verifyhost localhost sni str(localhost)" if workload.secure else ""
        file.write_text(HAPROXY.format(
            connections=machine.most_streams(), provider=self.upstream(workload), port=self.port, tls=tls))
        self.child = machine.Child(self.name, [self.stage.options.haproxy, "-db", "-f", str(file)], self.log("haproxy"))
        self.child.wait_until(lambda: machine.listens(self.port))


class Gateway(Peer):
    """The whole product on PostgreSQL, with its own files but for the limits: a user of a benchmark asks more than a person."""
    name = "gateway"
    kind = "gateway"
    has_database = True
    secret = "0123456789abcdef0123456789abcdef"
    prepared = False
    command = "serve"
    # Where its instance lives on disk: two at a time need two.
    state = "state"

    def environment(self, workload):
        environment = {
            "PATH": os.environ["PATH"], "COACH_ENV": "development", "COACH_ROOT": str(self.root()),
            "COACH_PORT": str(self.port), "COACH_METRICS_LISTEN": f"127.0.0.1:{self.metrics_port}",
            "COACH_STATE_DIR": str(self.stage.folder / self.state), "COACH_JWT_SECRET": self.secret, "COACH_DATABASE_PASSWORD": "bench",
            "COACH_MIGRATION_URL": f"postgres://postgres:{self.stage.options.password}@127.0.0.1:{self.stage.options.database_port}/postgres",
            "DATABASE_URL": f"postgres://coach_gateway:bench@127.0.0.1:{self.stage.options.database_port}/postgres",
            "COACH_SIMULATOR_URL": f"{'https' if workload.secure else 'http'}://127.0.0.1:{self.upstream(workload)}",
        }
        if workload.streams > 1500:
            environment["COACH_MAX_TURNS"] = str(workload.streams + 500)
        return environment

    def start(self, workload):
        self.port, self.metrics_port = machine.free_port(), machine.free_port()
        environment = self.environment(workload)
        executable = self.stage.options.executable
        if self.has_database and not Gateway.prepared:
            for command in ("migrate", "seed"):
                done = subprocess.run([executable, command], env=environment, capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr}{done.stdout}")
            Gateway.prepared = True
        self.child = machine.Child(self.name, [executable, self.command], self.log(self.name), environment)
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
            shutil.copy(checkout / "deploy/prices.json", root / "deploy")
            models = json.loads((checkout / "deploy/models.json").read_text())
            models["providers"]["simulator"]["ca_file"] = str(self.stage.certificate)
            # A stream that is nearly idle has a token every 30 s.
            models["limits"]["silence_ms"] = 60_000
            (root / "deploy/models.json").write_text(json.dumps(models))
            limits = json.loads((checkout / "deploy/limits.json").read_text())
            limits["requests_per_minute"] = 1_000_000
            limits["tiers"]["free"] |= {"messages_per_day": 1_000_000, "concurrent_turns": 100}
            (root / "deploy/limits.json").write_text(json.dumps(limits))
        return root


class PassThrough(Gateway):
    """The same without a database: what a peer does, and what the token path costs."""
    name = "pass-through"
    has_database = False
    command = "pass-through"
    meets = ("paced", "tls", "saturation", "packed", "ttft", "crowd", "turns")


class SecondGateway(Gateway):
    """Beside the first on the same database."""
    name = "gateway-2"
    state = "state-2"


class LiteLLM(Peer):
    name = "litellm"
    meets = ("saturation",)
    key = "sk-0123456789abcdef0123456789abcdef"

    def adapted(self, workload):
        # It needs a second for a thousand tokens: with more streams they would only wait.
        return replace(workload, streams=20, tokens=100, ramp=1)

    def start(self, workload):
        self.port = machine.free_port()
        file = self.stage.folder / "litellm.yaml"
        file.write_text(LITELLM.format(provider=self.stage.provider_port))
        home = self.stage.folder / "litellm-home"
        home.mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False", "LITELLM_MASTER_KEY": self.key}
        self.child = machine.Child(self.name, [
            str(self.stage.options.litellm), "--config", str(file), "--host", "127.0.0.1", "--port", str(self.port), "--num_workers", "1"],
            self.log(self.name), environment)
        try:
            self.child.wait_until(lambda: machine.get(self.port, "/health/liveliness")[0] == 200, 90)
        except SystemExit as reason:
            raise Unavailable(f"{reason}") from None

    def load_arguments(self):
        return ["--secret", self.key]


ALL = {peer.name: peer for peer in (Bare, Nginx, HAProxy, PassThrough, Gateway, LiteLLM)}

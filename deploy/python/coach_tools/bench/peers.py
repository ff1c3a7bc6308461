"""Peers: the servers between the load generator and the provider. Each is restarted for every run, so that no run affects the next."""
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from ..processes import free_port
from . import machine

NGINX = """
daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 65536;
error_log "{folder}/nginx.log" warn;
pid "{folder}/nginx.pid";
events {{ worker_connections 40000; }}
http {{
    access_log off;
    client_body_temp_path "{folder}/nginx-body";
    proxy_temp_path "{folder}/nginx-proxy";
    fastcgi_temp_path "{folder}/nginx-fastcgi";
    uwsgi_temp_path "{folder}/nginx-uwsgi";
    scgi_temp_path "{folder}/nginx-scgi";
    keepalive_requests 1000000;
    upstream provider {{ server 127.0.0.1:{provider}; keepalive 12000; keepalive_requests 1000000; }}
    proxy_ssl_trusted_certificate "{authority}";
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
    """A third-party peer cannot be started on this machine; the others are measured without it."""


class Peer:
    """A server to measure. `kind` is its API for the load generator; `child` is the process whose CPU and memory are measured, if any."""
    kind = "openai"
    has_database = False
    # The names of the workloads that it runs; None: all.
    workload_names = None
    child = None

    def __init__(self, testbed):
        self.testbed = testbed

    def start(self, workload):
        """Starts the peer for a workload and waits until it is ready."""
        self.port, self.child = self.testbed.provider_port, None

    def stop(self):
        """Stops the peer, if it has a process."""
        if self.child:
            self.child.stop()

    def load_arguments(self):
        """Further arguments for the load generator."""
        return []

    def adapted(self, workload):
        """The workload, reduced for a peer that cannot sustain it."""
        return workload

    def upstream(self, workload):
        """The provider's port for the workload."""
        return self.testbed.secure_port if workload.secure else self.testbed.provider_port

    def log(self, name):
        """The path of a log file."""
        return self.testbed.folder / f"{name}.log"


class Bare(Peer):
    """The provider itself, without a proxy: the baseline."""
    name = "bare"
    # The load generator has no TLS, and the provider sends no heartbeats.
    workload_names = ("paced", "saturation", "packed", "ttft", "crowd")


class Nginx(Peer):
    """nginx as a reverse proxy with one worker: the reference of the ratios."""
    name = "nginx"
    workload_names = ("paced", "tls", "saturation", "packed", "ttft", "idle", "crowd")

    def start(self, workload):
        self.port = free_port()
        file = self.testbed.folder / "nginx.conf"
        # The folder belongs to the current user; a worker of another user could not write there.
        user = "user root;" if os.getuid() == 0 else ""
        file.write_text(NGINX.format(
            user=user, folder=self.testbed.folder, provider=self.upstream(workload), port=self.port, authority=self.testbed.certificate,
            scheme="https" if workload.secure else "http"))
        self.child = machine.Child(self.name, [self.testbed.options.nginx, "-c", str(file), "-p", str(self.testbed.folder)], self.log("nginx-out"))
        self.child.wait_until(lambda: machine.listens(self.port))


class HAProxy(Peer):
    """HAProxy as a reverse proxy with one thread."""
    name = "haproxy"
    workload_names = ("paced", "tls", "saturation", "packed", "ttft", "idle", "crowd")

    def start(self, workload):
        self.port = free_port()
        file = self.testbed.folder / "haproxy.cfg"
        tls = f"ssl ca-file {self.testbed.certificate} verify required verifyhost localhost sni str(localhost)" if workload.secure else ""
        file.write_text(HAPROXY.format(
            connections=machine.most_streams(), provider=self.upstream(workload), port=self.port, tls=tls))
        self.child = machine.Child(self.name, [self.testbed.options.haproxy, "-db", "-f", str(file)], self.log("haproxy"))
        self.child.wait_until(lambda: machine.listens(self.port))


class Gateway(Peer):
    """The gateway on PostgreSQL with its default files, except for higher limits: a benchmark's user sends more requests than a person."""
    name = "gateway"
    kind = "gateway"
    has_database = True
    secret = "0123456789abcdef0123456789abcdef"
    prepared = False
    command = "serve"
    # The name of the state folder. Two concurrent gateways need different ones.
    state = "state"
    root_name = "root"

    def environment(self, workload):
        """The environment variables of the gateway."""
        environment = {
            "PATH": os.environ["PATH"], "COACH_ENV": "development", "COACH_ROOT": str(self.root()),
            "COACH_PORT": str(self.port), "COACH_METRICS_LISTEN": f"127.0.0.1:{self.metrics_port}",
            "COACH_STATE_DIR": str(self.testbed.folder / self.state), "COACH_JWT_SECRET": self.secret, "COACH_DATABASE_PASSWORD": "bench",
            "COACH_MIGRATION_URL": f"postgres://postgres:{self.testbed.options.password}@127.0.0.1:{self.testbed.options.database_port}/postgres",
            "DATABASE_URL": f"postgres://coach_gateway:bench@127.0.0.1:{self.testbed.options.database_port}/postgres",
            "COACH_SIMULATOR_URL": f"{'https' if workload.secure else 'http'}://127.0.0.1:{self.upstream(workload)}",
        }
        if workload.streams > 1500:
            environment["COACH_MAX_TURNS"] = str(workload.streams + 500)
        return environment

    def start(self, workload):
        self.port, self.metrics_port = free_port(), free_port()
        environment = self.environment(workload)
        executable = self.testbed.options.executable
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
        """Creates COACH_ROOT with the benchmark's limits and certificate, and returns it."""
        root = self.testbed.folder / self.root_name
        if not root.exists():
            checkout = Path(self.testbed.options.root)
            (root / "deploy").mkdir(parents=True)
            for name in ("db", "prompts", "domains"):
                (root / name).symlink_to(checkout / name)
            for name in ("prices.json", "alert-rules.json"):
                shutil.copy(checkout / "deploy" / name, root / "deploy")
            models = json.loads((checkout / "deploy/models.json").read_text())
            models["providers"]["simulator"]["ca_file"] = str(self.testbed.certificate)
            # The workload `idle` sends a token every 30 s.
            models["limits"]["silence_ms"] = 60_000
            (root / "deploy/models.json").write_text(json.dumps(models))
            tiers = json.loads((checkout / "deploy/tiers.json").read_text())
            self.set_limits(tiers)
            (root / "deploy/tiers.json").write_text(json.dumps(tiers))
        return root

    def set_limits(self, tiers):
        """Edits the content of tiers.json."""
        tiers["tiers"][0] |= {"requests_per_minute": 1_000_000, "messages_per_day": 1_000_000, "concurrent_turns": 100}


class BudgetedGateway(Gateway):
    """The gateway with budgets of the installation, the tier and the persona: every turn draws on all three, and none is refused."""
    name = "gateway-budgets"
    root_name = "root-budgets"
    # US dollars. A slice is a hundredth of it: as much as about 5,000 turns of 0.0004 cost.
    budget = "200"

    def set_limits(self, tiers):
        super().set_limits(tiers)
        tiers["tiers"][0]["shared_usd_per_day"] = self.budget
        tiers |= {"installation_usd_per_day": self.budget, "persona_usd_per_day": self.budget, "usd_reserved_per_turn": "0.01"}


class PassThrough(Gateway):
    """The gateway without a database: comparable to a proxy, shows the cost of the token path."""
    name = "pass-through"
    has_database = False
    command = "pass-through"
    workload_names = ("paced", "tls", "saturation", "packed", "ttft", "crowd", "turns")


class SecondGateway(Gateway):
    """A second gateway on the same database."""
    name = "gateway-2"
    state = "state-2"


class LiteLLM(Peer):
    """LiteLLM's proxy with one worker."""
    name = "litellm"
    workload_names = ("saturation",)
    key = "sk-0123456789abcdef0123456789abcdef"

    def adapted(self, workload):
        # It relays about a thousand tokens per second; more streams would only wait.
        return replace(workload, streams=20, tokens=100, ramp=1)

    def start(self, workload):
        self.port = free_port()
        file = self.testbed.folder / "litellm.yaml"
        file.write_text(LITELLM.format(provider=self.testbed.provider_port))
        home = self.testbed.folder / "litellm-home"
        home.mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False", "LITELLM_MASTER_KEY": self.key}
        self.child = machine.Child(self.name, [
            str(self.testbed.options.litellm), "--config", str(file), "--host", "127.0.0.1", "--port", str(self.port), "--num_workers", "1"],
            self.log(self.name), environment)
        try:
            self.child.wait_until(lambda: machine.get(self.port, "/health/liveliness")[0] == 200, 90)
        except SystemExit as reason:
            raise Unavailable(f"{reason}") from None

    def load_arguments(self):
        return ["--secret", self.key]


ALL = {peer.name: peer for peer in (Bare, Nginx, HAProxy, PassThrough, Gateway, LiteLLM)}

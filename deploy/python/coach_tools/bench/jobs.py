"""Jobs beside chat: whether a thousand jobs per second are done as they come, and what they cost the streams."""
import re
import subprocess
import threading
import time

from . import machine, peers, report
from .workloads import Workload

# Jobs per second, somewhat above the goal because pgbench leaves its pauses to chance, and jobs that one transaction enqueues.
RATE = 1050
BATCH = 10
# A real handler, which runs one transaction per job. The users do not exist, so that a job costs the same every time.
ENQUEUE = f"select count(gateway.enqueue_job(gen_random_uuid(), 'delete_user')) from generate_series(1, {BATCH});\n"


class Sampler(threading.Thread):
    """Reads the age of the oldest waiting job about twice per second."""

    def __init__(self, testbed):
        super().__init__(daemon=True)
        self.testbed, self.oldest, self.ended = testbed, [], threading.Event()

    def run(self):
        while not self.ended.wait(0.5):
            self.oldest.append(float(self.testbed.sql("select coalesce(max(oldest_seconds), 0) from gateway.job_figures()")[0]))

    def stop(self):
        self.ended.set()
        self.join()


def done_jobs(peer):
    """Jobs that the gateway has done so far, by its metrics."""
    page = machine.get(peer.metrics_port, "/metrics")[1].decode()
    found = re.search(r'^coach_jobs_total\{(?=[^}]*kind="delete_user")(?=[^}]*outcome="done")[^}]*\} (\S+)', page, re.MULTILINE)
    return int(float(found[1])) if found else 0


def study(testbed, kinds):
    """Runs the same streams without and with jobs."""
    seconds = 10 if testbed.options.quick == "yes" else 30
    workload = Workload("jobs", "200 streams x 20 tokens/s", 200, 20, 20 * seconds, ramp=2)
    alone = testbed.measure(peers.Gateway(testbed), workload)
    peer, sampler = peers.Gateway(testbed), Sampler(testbed)
    script = testbed.folder / "enqueue.pgbench"
    script.write_text(ENQUEUE)
    causes = None
    try:
        peer.start(workload)
        testbed.warm(peer)
        began = time.monotonic()
        causes = subprocess.Popen(
            ["pgbench", "-n", "-f", str(script), "-c", "2", "-j", "1", "-R", str(RATE // BATCH), "-T", str(seconds)]
            + testbed.address("postgres")[:6] + ["postgres"], env=testbed.as_role("postgres"), stdout=subprocess.PIPE, text=True)
        sampler.start()
        figures = testbed.run(peer, workload)
        output, _ = causes.communicate(timeout=60)
        enqueued = BATCH * int(re.search(r"transactions actually processed: (\d+)", output)[1])
        end = time.monotonic() + 30
        while (done := done_jobs(peer)) < enqueued and time.monotonic() < end:
            time.sleep(0.05)
        throughput = done / (time.monotonic() - began)
    finally:
        if causes and causes.poll() is None:
            causes.kill()
            causes.wait()
        if sampler.is_alive():
            sampler.stop()
        peer.stop()

    def cpu(run, key):
        """CPU seconds of a run."""
        return run[key] * run["load"]["tokens"] / 1e6

    costs = {
        key: (cpu(figures, key) - cpu(alone, key)) / max(1, enqueued) * 1e3 for key in ("cpu_per_million", "database_per_million")}
    body = [
        [name, run["tokens_per_s"], run["added_p50"], run["added_p99"], run["gap_max"], run["not_whole"], run["proxy_share"], run["others_share"]]
        for name, run in (("without jobs", alone), ("with jobs", figures))]
    head = ["gateway", "tokens/s", "added p50 µs", "p99", "longest gap ms", "not whole", "gateway CPU", "others' CPU"]
    text = (
        f"**jobs**: {enqueued:,} jobs enqueued at {enqueued / seconds:,.0f}/s, {done:,} done at {throughput:,.0f}/s or more; the oldest due one waited at most "
        f"{max(sampler.oldest, default=0) * 1e3:.0f} ms; {costs['cpu_per_million']:.2f} ms CPU a job in the gateway, "
        f"{costs['database_per_million']:.2f} ms in PostgreSQL with enqueuing; {workload.title}\n\n" + report.rows(head, body))
    return {
        "text": text, "enqueued": enqueued, "done": done, "rate": enqueued / seconds, "throughput": throughput, "oldest_s": max(sampler.oldest, default=0),
        "cpu_per_job": costs["cpu_per_million"], "database_per_job": costs["database_per_million"], "alone": alone, "with_jobs": figures}

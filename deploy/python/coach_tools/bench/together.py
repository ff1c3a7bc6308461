"""Several gateways on one database under load at the same time."""
from dataclasses import replace

from . import machine


def run_together(testbed, gateways, workload):
    """Runs the workload with each of some running gateways, each with users of its own. Returns a dictionary: `seen`, the results of each load
    generator, and the CPU seconds of each gateway (`own`), of PostgreSQL (`database`) and of all processors (`busy`)."""
    testbed.set_workload(workload.provider_query)
    own = [machine.cpu_seconds(peer.child.pid) for peer in gateways]
    database, busy = machine.cpu_seconds(testbed.postmaster), machine.busy_seconds()
    users = workload.users or workload.streams
    # Each load generator has its own users and so its own conversations.
    loads = [
        testbed.begin_load(peer, replace(workload, first_user=workload.first_user + place * users).load_arguments())
        for place, peer in enumerate(gateways)]
    seen = [testbed.end_load(load, workload.limit) for load in loads]
    return {
        "seen": seen, "own": [machine.cpu_seconds(peer.child.pid) - before for peer, before in zip(gateways, own)],
        "database": machine.cpu_seconds(testbed.postmaster) - database, "busy": machine.busy_seconds() - busy}


def not_whole(seen):
    """How many answers of a load generator's results are not complete."""
    return seen["rejected"] + seen["incomplete"] + seen["lost"] + seen["missed"]

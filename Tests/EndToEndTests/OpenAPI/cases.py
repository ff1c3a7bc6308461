"""Tries generated requests on every route as three roles: cases.py URL CASES USER_TOKEN CREATOR_TOKEN OPERATOR_TOKEN.

CASES is an upper bound for each role and route. Links from one answer into the next request are followed. Up to 2 the run is short; beyond,
schemathesis also covers examples and boundaries, and the run fails with fewer than 5,000 requests in all. Fails on 5xx, on a status or a media type that
the document does not name, on a body that breaks its schema, and when a token is not accepted any more: 401 is a documented status.
"""

import json
import os
import subprocess
import sys
import tempfile

import requests

url, cases, *tokens = sys.argv[1:]
cases = int(cases)


def lift_limits(token):
    """A run sends more than 600 requests a minute."""
    path = f"{url}/api/v1/operator/limits"
    headers = {"Authorization": f"Bearer {token}"}
    answer = requests.get(path, headers=headers, timeout=10)
    body = answer.json()["data"]["body"]
    for tier in body["tiers"]:
        tier.update(requests_per_minute=1_000_000, messages_per_day=1_000_000, concurrent_turns=100)
    headers["If-Match"] = answer.headers["etag"]
    change = requests.put(path, headers=headers, json={"body": body, "reason": "generated requests"}, timeout=10)
    assert change.status_code == 200, change.text


# A stream of events has no end.
NEVER = "get_api_v1_operator_events"
# Edited limits would refuse the other requests. They have a run of their own, the last.
LAST = "put_api_v1_operator_limits|post_api_v1_operator_limits_rollback"


def run(role, token, report, *options, follows_links=True, accepted=(200,)):
    """Returns the number of requests, and whether all checks passed and the token then gets one of the accepted statuses."""
    phases = ["fuzzing"] if cases <= 2 else ["examples", "coverage", "fuzzing"]
    command = [
        os.path.join(os.path.dirname(sys.executable), "schemathesis"), "run", f"{url}/openapi.json",
        "--header", f"Authorization: Bearer {token}", "--seed", "1", "--max-examples", str(cases), "--warnings", "off",
        "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
        "--phases", ",".join(phases + (["stateful"] if follows_links else [])), "--report-json-path", report,
        "--suppress-health-check", "all", "--request-timeout", "30", "--no-color", "--continue-on-failure", *options,
    ]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"})
    print(f"== {role}: {result.returncode}\n{result.stdout[-20000:]}\n{result.stderr[-2000:]}", flush=True)
    with open(report) as file:
        figures = json.load(file)
    generated = figures["test_cases"]["generated"]
    account = requests.get(f"{url}/api/v1/me", headers={"Authorization": f"Bearer {token}"}, timeout=10)
    print(f"{role}: {generated} requests to {figures['operations']} operations; then /api/v1/me: {account.status_code}", flush=True)
    passed = result.returncode == 0 and figures["complete"] and generated > 0 and account.status_code in accepted
    return generated, passed


lift_limits(tokens[2])
with tempfile.TemporaryDirectory() as folder:
    results = [
        run(role, token, f"{folder}/{role}.json", "--exclude-operation-id-regex", f"^({LAST}|{NEVER})$")
        for role, token in zip(["user", "creator", "operator"], tokens)
    ]
    results.append(
        run(
            "operator, last", tokens[2], f"{folder}/last.json", "--include-operation-id-regex", f"^({LAST})$", follows_links=False,
            accepted=(200, 429)))
total = sum(generated for generated, _ in results)
print(f"{total} requests in all")
sys.exit(0 if all(passed for _, passed in results) and (cases <= 2 or total >= 5_000) else 1)

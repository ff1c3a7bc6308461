"""Plans of the gateway's statements with their rows and buffers, as PostgreSQL's auto_explain logs them: with the roles, policies and prepared plans
that requests really meet."""
import contextlib
import re

ENTRY = re.compile(r"^\S+ \S+ \S+ \[(\d+)\] LOG:  duration: ([\d.]+) ms  plan:\n((?:\t.*\n?)*)", re.MULTILINE)
SETTINGS = {
    "session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on"}


@contextlib.contextmanager
def logged(testbed):
    """New connections of the gateway log every plan."""
    role = "alter role coach_gateway in database postgres"
    testbed.sql("load 'auto_explain';\n" + "".join(f"{role} set {name} = '{value}';\n" for name, value in SETTINGS.items()))
    try:
        yield
    finally:
        testbed.sql("load 'auto_explain';\n" + "".join(f"{role} reset {name};\n" for name in SETTINGS))


class Recording:
    """The plans of users' statements that were logged while it was open."""

    def __init__(self, testbed):
        self.testbed, self.longest = testbed, "none was logged"

    def log(self):
        """The server's log so far."""
        return self.testbed.in_cluster('as_postgres cat "$2/postgres.log"')

    def __enter__(self):
        self.start = len(self.log())
        return self

    def __exit__(self, *failure):
        claimed, found = set(), []
        for process, milliseconds, plan in ENTRY.findall(self.log()[self.start:]):
            if "request.jwt.claims" in plan:
                claimed.add(process)
            # The statement after the one that sets the claims, or one that does both; but for the one that counts every request.
            if process in claimed and "gateway.take_request(" not in plan:
                found.append((float(milliseconds), re.sub(r"^\t", "", plan, flags=re.MULTILINE)))
        if found:
            milliseconds, plan = max(found)
            self.longest = f"{milliseconds} ms\n{plan.rstrip()}"

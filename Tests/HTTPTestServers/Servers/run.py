"""Runs a server of this folder until its standard input ends, so that none outlives the tests: what all tests share is never released."""

import os
import runpy
import sys
import threading


def end():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end, daemon=True).start()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")

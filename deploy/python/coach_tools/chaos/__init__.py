"""Runs clients and faults against real processes. Started by deploy/chaos."""

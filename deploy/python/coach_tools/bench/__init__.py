"""Measures the gateway against bare proxies. Started by deploy/bench."""

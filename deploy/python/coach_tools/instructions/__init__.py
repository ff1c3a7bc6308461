"""Counts the CPU instructions of operations. Started by deploy/instructions."""

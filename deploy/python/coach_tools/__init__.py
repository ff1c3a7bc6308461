"""The programs behind deploy/bench, deploy/chaos and deploy/instructions, and what they share."""

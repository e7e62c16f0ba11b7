"""Measures the hakmem allocator against its peers: builds them, runs the workloads, compares."""

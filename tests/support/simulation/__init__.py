"""A world under a seed: machines, people, clocks, disks and a service, in one thread and without real time."""

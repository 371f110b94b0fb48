"""Machines, a service, a store and people in one thread under a seed; `simulation.Simulation` is the whole."""

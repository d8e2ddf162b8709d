"""Samplers, one file each: settings, and a sampler with `init` and `step`."""

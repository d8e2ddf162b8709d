"""The version; a module of its own, so that anything may name it."""

__version__ = "0.1.0.dev0"

"""What a compression is for: another target, or proposals to a chain that keeps the true one (papers.md 3.15, `osa`)."""

from typing import Literal

Role = Literal["auto", "target", "proposal"]  # auto: it proposes where the method takes proposals

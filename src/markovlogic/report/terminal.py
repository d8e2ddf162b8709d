"""Text for a terminal: what would command it is shown instead. Files and pipes get every name as it is."""

from __future__ import annotations

from typing import TextIO

# C0 and C1 controls and DEL, separators of lines, and marks that reorder what stands around them
_COMMANDS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _COMMANDS if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """The text with control characters written as escapes; line ends and tabs stay."""
    return text.translate(_SHOWN)


def shown_on(stream: TextIO, text: str) -> str:
    """The text as this stream should get it."""
    return visible(text) if stream.isatty() else text

"""`mln lsp`: a language server for rule files, on standard input and output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markovlogic._version import __version__
from markovlogic.errors import InputError


def lsp() -> int:
    """Serve editors: errors and findings as you type, hover, completion, go to definition, rename, format."""
    server().start_io()
    return 0


def server() -> Any:
    """The language server; needs the extra `lsp`."""
    try:
        from lsprotocol import types
        from pygls.lsp.server import LanguageServer
        from pygls.uris import from_fs_path, to_fs_path
    except ImportError:
        raise InputError("the language server needs pygls", hint="pip install 'markovlogic[lsp]'") from None
    from markovlogic.language.formatting import format_text
    from markovlogic.language.outline import CONSTANT, PREDICATE, TYPE, VARIABLE, Outline

    made = LanguageServer("mln", __version__)

    def outline(uri: str) -> Outline:
        text = made.workspace.get_text_document(uri).source
        return Outline(text, to_fs_path(uri) or uri)

    def position(own: Outline, offset: int) -> types.Position:
        line: int = own.source.line_of(offset)
        column = offset - own.source.line_starts[line - 1]
        units = len(own.source.line(line)[:column].encode("utf-16-le")) // 2  # editors count UTF-16 units
        return types.Position(line - 1, units)

    def offset(own: Outline, at: types.Position) -> int:
        if at.line >= len(own.source.line_starts):
            return len(own.source.text)
        text = own.source.line(at.line + 1).encode("utf-16-le")[: 2 * at.character]
        start: int = own.source.line_starts[at.line]
        return start + len(text.decode("utf-16-le", errors="ignore"))

    def span(own: Outline, start: int, end: int) -> types.Range:
        return types.Range(position(own, start), position(own, end))

    def publish(uri: str) -> None:
        own = outline(uri)
        kinds = {True: types.DiagnosticSeverity.Error, False: types.DiagnosticSeverity.Warning}
        found = [
            types.Diagnostic(
                span(own, one.start, one.end), one.message, severity=kinds[one.is_error], source="mln", code=one.name or None
            )
            for one in own.problems()
        ]
        made.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))

    def opened(given: types.DidOpenTextDocumentParams) -> None:
        publish(given.text_document.uri)

    def changed(given: types.DidChangeTextDocumentParams) -> None:
        publish(given.text_document.uri)

    def hover(given: types.HoverParams) -> types.Hover | None:
        own = outline(given.text_document.uri)
        text = own.hover(offset(own, given.position))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    def definition(given: types.DefinitionParams) -> types.Location | None:
        own = outline(given.text_document.uri)
        symbol = own.symbol_at(offset(own, given.position))
        place = None if symbol is None else own.definition(symbol)
        if place is None or not place.line:
            return None
        start = types.Position(place.line - 1, max(place.column - 1, 0))
        here = place.file == own.source.name
        return types.Location(
            given.text_document.uri if here else from_fs_path(place.file) or place.file, types.Range(start, start)
        )

    def references(given: types.ReferenceParams) -> list[types.Location]:
        own = outline(given.text_document.uri)
        symbol = own.symbol_at(offset(own, given.position))
        places = [] if symbol is None else own.occurrences(symbol)
        return [types.Location(given.text_document.uri, span(own, one.start, one.end)) for one in places]

    def rename(given: types.RenameParams) -> types.WorkspaceEdit | None:
        own = outline(given.text_document.uri)
        symbol = own.symbol_at(offset(own, given.position))
        if symbol is None:
            return None
        edits = [types.TextEdit(span(own, one.start, one.end), given.new_name) for one in own.occurrences(symbol)]
        return types.WorkspaceEdit(changes={given.text_document.uri: edits})

    def formatting(given: types.DocumentFormattingParams) -> list[types.TextEdit]:
        own = outline(given.text_document.uri)
        try:
            text = format_text(own.source.text, own.source.name)
        except InputError:
            return []  # the errors are shown already
        return [types.TextEdit(span(own, 0, len(own.source.text)), text)] if text != own.source.text else []

    def completion(given: types.CompletionParams) -> types.CompletionList:
        own = outline(given.text_document.uri)
        kinds = {
            PREDICATE: types.CompletionItemKind.Function, TYPE: types.CompletionItemKind.Class,
            CONSTANT: types.CompletionItemKind.Constant, VARIABLE: types.CompletionItemKind.Variable,
        }  # fmt: skip
        items = [
            types.CompletionItem(one.name, kind=kinds.get(one.kind, types.CompletionItemKind.Keyword), detail=one.detail or None)
            for one in own.completions(offset(own, given.position))
        ]
        return types.CompletionList(is_incomplete=False, items=items)

    handlers: dict[str, Callable[..., Any]] = {
        types.TEXT_DOCUMENT_DID_OPEN: opened,
        types.TEXT_DOCUMENT_DID_CHANGE: changed,
        types.TEXT_DOCUMENT_HOVER: hover,
        types.TEXT_DOCUMENT_DEFINITION: definition,
        types.TEXT_DOCUMENT_REFERENCES: references,
        types.TEXT_DOCUMENT_RENAME: rename,
        types.TEXT_DOCUMENT_FORMATTING: formatting,
        types.TEXT_DOCUMENT_COMPLETION: completion,
    }
    for feature, handler in handlers.items():
        made.feature(feature)(handler)
    return made

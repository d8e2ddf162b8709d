"""Which test files belong to a source file: by name, by folder, and by what they import."""

import ast
from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "markovlogic"
FEW = 3  # files of tests
KERNELS = "kernels"
# What neither names nor imports tell, by the first part of a path: what was recorded of whole runs and of plans holds everything
# that they are made of, steps of samplers hold all that chains start from and run on.
_STEPS = "tests/sampling/test_recorded_steps.py"
_STAGES, _CHAINS = "tests/networks/test_recorded_numbers.py", "tests/sampling/test_recorded_numbers.py"
_PLANS, _ANSWERS, _MANY = "tests/methods/test_recorded_numbers.py", "tests/methods/test_answers.py", "tests/methods/test_many.py"
_SOFT, _NUMBERS, _DEFAULTS = "tests/test_soft_evidence.py", "tests/test_numbers.py", "tests/test_signatures.py"
ALSO = (
    dict.fromkeys((KERNELS, "networks", "samplers"), (_STEPS, _STAGES, _CHAINS, _ANSWERS, _MANY))
    | dict.fromkeys(("exact", "maximizing"), (_STAGES, _ANSWERS, _PLANS, _MANY))
    | dict.fromkeys(("estimate", "results.py", "running"), (_ANSWERS, _MANY))
    | dict.fromkeys(("deciding", "lifted", "partition", "propagation", "problem", "questions.py"), (_ANSWERS, _PLANS, _MANY))
    | {
        "grounding": (_ANSWERS, _PLANS, _NUMBERS, _MANY),
        "data": ("tests/language/test_recorded_numbers.py", _SOFT, _NUMBERS),
        "language": (_NUMBERS, _MANY),
    }
    | {"symmetry": ("tests/symmetry/test_recorded_numbers.py", _ANSWERS, _MANY), "learning": (_NUMBERS, _DEFAULTS)}
    | {"compressing": ("tests/compression/test_recorded_numbers.py", _ANSWERS, _MANY)}
    | dict.fromkeys(("inference.py", "methods", "planner.py"), ("tests/test_planner.py", _ANSWERS, _PLANS, _MANY, _DEFAULTS))
    | {"maximization.py": ("tests/cli/test_map.py", _ANSWERS, _DEFAULTS), "clustering.py": (_ANSWERS, _DEFAULTS)}
    | dict.fromkeys(("model.py", "symmetry_report.py", "compression.py", "evaluation"), (_DEFAULTS,))
)


@dataclass(frozen=True)
class PartTests:
    """The tests of a project whose sources are in src/markovlogic and whose tests in tests/."""

    project: Path

    @cached_property
    def sources(self) -> dict[str, Path]:
        """Module names and their files."""
        root = self.project / "src"
        return {_module(path.relative_to(root)): path for path in sorted((root / PACKAGE).rglob("*.py"))}

    @cached_property
    def test_modules(self) -> dict[str, Path]:
        """Test files and the helpers they share."""
        return {_module(path.relative_to(self.project)): path for path in sorted((self.project / "tests").rglob("*.py"))}

    @cached_property
    def imports(self) -> dict[str, frozenset[str]]:
        """The modules of the package that each module of the package imports itself."""
        return {module: _imported(path, self.sources.keys()) for module, path in self.sources.items()}

    @cached_property
    def test_imports(self) -> dict[Path, frozenset[str]]:
        """The modules of the package that each test file imports, by itself or through its helpers."""
        known = self.sources.keys() | self.test_modules.keys()
        direct = {module: _imported(path, known) for module, path in self.test_modules.items()}
        found = {}
        for module, path in self.test_modules.items():
            if path.name.startswith("test_"):
                helpers = _reached(module, {name: names & self.test_modules.keys() for name, names in direct.items()})
                found[path] = frozenset().union(*(direct[helper] for helper in helpers)) & self.sources.keys()
        return found

    def importers(self, module: str) -> frozenset[str]:
        """All modules of the package that import this one, directly or not, and itself."""
        users = {name: frozenset(user for user, used in self.imports.items() if name in used) for name in self.sources}
        return _reached(module, users)

    def tests_of(self, source: Path) -> list[list[Path]]:
        """Test files in ranks: of the same name; in `ALSO`; that import it; of its folders, of folders of their names, or named
        after the outermost; that import what imports it, or stand in the folder of the package that does.

        The last is requested of kernels, which are called through other kernels and samplers, and where the others are few.
        """
        relative = source.relative_to(self.project / "src" / PACKAGE)
        module = _module(source.relative_to(self.project / "src"))
        names = [*relative.parts[1:-1], relative.stem]
        named = [path for path in self.test_imports if any(path.stem.startswith(f"test_{name}") for name in names)]
        direct = [path for path, used in self.test_imports.items() if module in used]
        part, top = Path(relative.parts[0]).stem, self.project / "tests"
        folders = {top / part, *(top / folder for folder in relative.parents if folder.parts)}
        folders |= {path.parent for path in self.test_imports if path.parent.name in relative.parts[1:-1]}
        folder = [
            path
            for path in self.test_imports
            if path.parent in folders or (path.parent == top and path.stem.startswith(f"test_{part}"))
        ]
        far: list[Path] = []
        if relative.parts[0] == KERNELS or len({*named, *direct, *folder}) < FEW:
            among = {module} | {user for user in self.importers(module) if user.startswith(f"{PACKAGE}.{KERNELS}")}
            users = {user for user, used in self.imports.items() if used & among}
            theirs = {top / user.split(".")[1] for user in users - {PACKAGE} if not user.startswith(f"{PACKAGE}.{KERNELS}")}
            far = [path for path, used in self.test_imports.items() if used & users or path.parent in theirs]
        also = [path for name in ALSO.get(relative.parts[0], ()) if (path := self.project / name).exists()]
        return _without_repeats([named, also, direct, folder, far])


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, known: Set[str]) -> frozenset[str]:
    """What a file imports anywhere in it, of the known modules; names that a package re-exports count as the package."""
    named = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(named & known)


def _reached(start: str, edges: dict[str, frozenset[str]]) -> frozenset[str]:
    seen, waiting = {start}, [start]
    while waiting:
        new = edges.get(waiting.pop(), frozenset()) - seen
        seen |= new
        waiting.extend(new)
    return frozenset(seen)


def _without_repeats(ranks: list[list[Path]]) -> list[list[Path]]:
    seen: set[Path] = set()
    kept = []
    for rank in ranks:
        kept.append([path for path in rank if path not in seen])
        seen.update(rank)
    return kept

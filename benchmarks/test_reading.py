"""How fast evidence is read: megabytes a second and peak memory, on generated files of about a hundred megabytes."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from markovlogic.data.arrow import atom_names
from markovlogic.data.readers import read_evidence
from markovlogic.language.syntax import Model, Predicate
from markovlogic.problem import pose

PREDICATES = {
    "HasWord": Predicate("HasWord", ("word", "page"), (False, False)),
    "Linked": Predicate("Linked", ("page", "page"), (False, False)),
    "Title": Predicate("Title", ("bib", "title"), (False, False)),
    "SameBib": Predicate("SameBib", ("bib", "bib"), (False, False)),
}
MODEL = Model(PREDICATES, (), {})
N_PAGES, N_WORDS = 50_000, 5_000


def web_pages(rng):
    """Short constants, a few facts a constant, as in WebKB."""
    words, pages = rng.integers(0, N_WORDS, 4_000_000), rng.integers(0, N_PAGES, 4_000_000)
    links = rng.integers(0, N_PAGES, (500_000, 2))
    yield from (f"HasWord(W{word}, P{page})\n" for word, page in zip(words.tolist(), pages.tolist(), strict=True))
    yield from (f"Linked(P{one}, P{other})\n" for one, other in links.tolist())


def citations(rng):
    """Long constants and negative facts, as in Cora."""
    titles = [f"Title_learning_{n}_of_logical_{n % 97}_concepts_in_{n % 31}_networks_" for n in range(2_000)]
    yield from (f"Title(Class_{bib}, {titles[title]})\n" for bib, title in enumerate(rng.integers(0, 2_000, 1_200_000).tolist()))
    pairs = rng.integers(0, 20_000, (900_000, 2)).tolist()
    yield from (f"{'' if one % 17 == other % 17 else '!'}SameBib(Class_{one}, Class_{other})\n" for one, other in pairs)


def quoted(rng):
    """Every line needs the exact path."""
    pairs = rng.integers(0, N_PAGES, (400_000, 2)).tolist()
    yield from (f'Linked("page {one}", "page {other}")\n' for one, other in pairs)


@pytest.mark.parametrize("kind", [web_pages, citations, quoted])
def test_reading_db(benchmark, tmp_path, kind):
    path = tmp_path / "facts.db"
    with open(path, "w") as file:
        file.writelines(kind(np.random.default_rng(0)))
    size = path.stat().st_size
    benchmark.pedantic(read_evidence, (MODEL, [str(path)]), rounds=3, warmup_rounds=1)
    benchmark.extra_info["file_megabytes"] = size / 1e6
    benchmark.extra_info["megabytes_a_second"] = size / 1e6 / benchmark.stats.stats.min
    if sys.platform == "linux":
        benchmark.extra_info["peak_memory_over_file_size"] = peak_memory(path) / size


def peak_memory(path):
    """Peak of a fresh process that reads the file, less that of one which reads a tiny file, in bytes."""
    script = "import sys; sys.path.insert(0, 'benchmarks'); import test_reading as t; t.read_and_print_peak(sys.argv[1])"
    tiny = path.with_name("tiny.db")
    tiny.write_text("Linked(A, B)\n")
    runs = [subprocess.run([sys.executable, "-c", script, file], capture_output=True, check=True) for file in (path, tiny)]
    return int(runs[0].stdout) - int(runs[1].stdout)


def read_and_print_peak(path):
    read_evidence(MODEL, [path])
    # not getrusage: its peak survives the exec of the parent's process
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(int(status["VmHWM"].split()[0]) * 1024)


def test_posing_twenty_million_open_atoms(benchmark, tmp_path):
    path = tmp_path / "facts.db"
    rng = np.random.default_rng(0)
    path.write_text("".join(f"HasWord(W{w}, P{p})\n" for w, p in rng.integers(0, (774, 4168), (270_000, 2)).tolist()))
    evidence = read_evidence(MODEL, [path])
    problem = benchmark(pose, MODEL, evidence, None, open_=["HasWord", "Linked"])
    benchmark.extra_info["open_atoms"] = len(problem.atoms)
    tracemalloc.start()
    pose(MODEL, evidence, None, open_=["HasWord", "Linked"])
    benchmark.extra_info["peak_memory_bytes"] = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_writing_names(benchmark, tmp_path):
    path = tmp_path / "facts.db"
    path.write_text("".join(f"HasWord(W{n % 700}, P{n})\n" for n in range(4_000)))
    domains = read_evidence(MODEL, [path]).domains
    code = np.arange(700 * 4_000, dtype=np.int64)
    benchmark.pedantic(atom_names, ("HasWord", code, (700, 4_000), [domains["word"], domains["page"]]), rounds=3)
    benchmark.extra_info["million_names_a_second"] = len(code) / 1e6 / benchmark.stats.stats.min

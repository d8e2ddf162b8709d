"""Plants faults in a copy of the package, one at a time, and lists those that the tests of their part do not see.

    make mutants                                        40 faults, drawn with seed 1
    python -m tools.mutants --count 100 --seed 7        others
    python -m tools.mutants --count 20 --only estimate  in one package or file
    python -m tools.mutants --list --only estimate      which tests belong to each file, and how many faults it can have

A survivor is a gap in the tests, code that nothing needs, or a change that changes nothing: judge it, then write the test or
delete the code.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.copying import Copy, copy_project
from tools.faults import Site, plant, sites_of
from tools.part_tests import KERNELS, PACKAGE, PartTests
from tools.watching import VARIABLE, Orders

PROJECT = Path(__file__).parents[1]
KEPT = PROJECT / ".mutants"
LEFT_OUT = ("experiments", "cli")  # what they do is shown to people, and seen by people
ENDED = " (ended by signal "
MEMORY_SHARE = 0.5  # of the machine's memory: a fault may ask for all of it
KERNEL_SECONDS = 60.0  # added to a test's limit where kernels are compiled first


@dataclass(frozen=True)
class Fault:
    """A fault to be planted: a file below the package, a place in it, and the text to stand there."""

    file: str
    site: Site
    instead: str

    def shown(self, source: str) -> str:
        """File, line, and the line before and after."""
        line = source.count("\n", 0, self.site.start)
        after = plant(source, self.site, self.instead).splitlines()
        return f"{self.file}:{line + 1}\n    - {source.splitlines()[line].strip()}\n    + {after[line].strip()}"


@dataclass(frozen=True)
class Verdict:
    """What became of a fault: "killed" by a test, "survived", or nothing that can be stated because tests fail without it."""

    fault: Fault
    fate: str
    by: str
    seconds: float


@dataclass(frozen=True)
class Limits:
    """Seconds that one test, and all tests of one fault, may take."""

    test: float
    all: float


def drawn(project: Path, only: str, seed: int) -> list[Fault]:
    """All sites of the package in an order drawn with the seed, one fault each: the first n are a sample of n."""
    package = project / "src" / PACKAGE
    rng = random.Random(seed)
    faults = []
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        if file.split("/")[0] not in LEFT_OUT:
            faults += [(Fault(file, site, rng.choice(site.instead))) for site in sites_of(path.read_text())]
    rng.shuffle(faults)
    wanted = only.removeprefix("src/").removeprefix(f"{PACKAGE}/").rstrip("/")
    return [fault for fault in faults if not wanted or fault.file == wanted or fault.file.startswith(f"{wanted}/")]


def files_of_tests(tests: PartTests, file: str, seconds: dict[str, float]) -> list[str]:
    """The tests of a source file, nearest first and the quick ones first among equals."""
    ranks = tests.tests_of(tests.project / "src" / PACKAGE / file)
    named = [[path.relative_to(tests.project).as_posix() for path in rank] for rank in ranks]
    return [name for rank in named for name in sorted(rank, key=lambda name: (seconds.get(name, 10.0), name))]


def run_tests(project: Path, names: list[str], limits: Limits, *, first_failure: bool) -> tuple[int, dict[str, object]]:
    """Exit status of pytest in the copy, and what `watching` saw."""
    outcome = project.parent / "outcome.json"
    outcome.unlink(missing_ok=True)
    memory = int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    orders = json.dumps(asdict(Orders(str(outcome), limits.test, limits.all, memory)))
    environment = os.environ | {
        VARIABLE: orders,
        "PYTHONPATH": os.pathsep.join([str(project / "src"), str(project)]),
        "PYTHONDONTWRITEBYTECODE": "1",  # a fault of the same size within the same second would be taken for compiled
    }
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "tools.watching", "-p", "no:cacheprovider"]
    command += ["--hypothesis-profile=unshrunk", "--tb=short", *(["-x"] if first_failure else []), *names]
    with open(project.parent / "output.txt", "wb") as output:
        tested = subprocess.Popen(command, cwd=project, env=environment, stdout=output, stderr=output, start_new_session=True)
        try:
            status = tested.wait(timeout=limits.all + limits.test + 60)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        finally:
            with suppress(ProcessLookupError):
                os.killpg(tested.pid, signal.SIGKILL)  # and what the tests started
            tested.wait()
    if outcome.exists():
        return status, json.loads(outcome.read_text())
    return status, {}


def refuse_a_broken_copy(copy: Copy) -> None:
    """Where pytest does not even start without a fault, faults that keep it from starting would count as seen."""
    limits = Limits(60.0, 60.0)
    if not run_tests(copy.project, ["tests/test_arrays.py"], limits, first_failure=True)[1]:
        raise RuntimeError(f"pytest did not start: {(copy.project.parent / 'output.txt').read_text()[-2000:]}")


def judge(copy: Copy, fault: Fault, limits: Limits, seconds: dict[str, float]) -> Verdict:
    """Plant one fault, run the tests of its part, take it out again."""
    source = copy.project / "src" / PACKAGE / fault.file
    names = files_of_tests(copy.tests, fault.file, seconds)
    if fault.file.startswith(f"{KERNELS}/"):
        limits = Limits(limits.test + KERNEL_SECONDS, limits.all + KERNEL_SECONDS)
    began = time.monotonic()
    with copy.with_fault(source, plant(source.read_text(), fault.site, fault.instead)):
        status, seen = run_tests(copy.project, names, limits, first_failure=True)
    took = time.monotonic() - began
    if status < 0 or not seen:
        how = f"{ENDED}{-status})" if status < 0 else ", which failed"
        return Verdict(fault, "killed", f"{seen.get('running', 'the start of pytest')}{how}", took)
    if seen["failed"]:
        return Verdict(fault, "killed", str(seen["failed"]), took)
    measured = seen["seconds"]
    assert isinstance(measured, dict)
    unfinished = str(seen["running"]).partition("::")[0] if seen["out_of_time"] else ""
    seconds |= {name: value for name, value in measured.items() if name != unfinished}
    return Verdict(fault, "survived", f"{len(measured)} of {len(names)} files of tests", took)


def without_faults(copy: Copy, verdicts: list[Verdict], limits: Limits) -> list[Verdict]:
    """The tests that killed have to pass where there is no fault; what they killed is unjudged if they do not."""
    by = [verdict.by.partition(ENDED)[0] for verdict in verdicts]
    tests = sorted(
        {test for test, verdict in zip(by, verdicts, strict=True) if verdict.fate == "killed" and test.startswith("tests/")}
    )
    if not tests:
        return verdicts
    roomy = Limits(limits.test, limits.all * len(tests))
    status, seen = run_tests(copy.project, tests, roomy, first_failure=False)
    if status == 0:
        return verdicts
    print(f"without any fault the tests of the faults fail, first of all {seen.get('failed') or seen.get('running')}")
    print((copy.project.parent / "output.txt").read_text()[-2000:])
    return [
        Verdict(v.fault, "unjudged" if test in tests else v.fate, v.by, v.seconds) for test, v in zip(by, verdicts, strict=True)
    ]


def table(verdicts: list[Verdict]) -> str:
    """Counts of each package and all."""
    fates = ("killed", "survived", "unjudged")
    parts = [verdict.fault.file.split("/")[0] for verdict in verdicts]
    counts = Counter(zip(parts, (verdict.fate for verdict in verdicts), strict=True))
    lines = [f"{'':22}" + "".join(f"{fate:>10}" for fate in fates)]
    for part in sorted(set(parts)):
        lines.append(f"{part:22}" + "".join(f"{counts[part, fate]:>10}" for fate in fates))
    lines.append(f"{'all':22}" + "".join(f"{sum(v.fate == fate for v in verdicts):>10}" for fate in fates))
    return "\n".join(lines)


def list_files(faults: list[Fault]) -> None:
    """Each file, how many faults it can have, and its tests."""
    tests = PartTests(PROJECT)
    for file, count in sorted(Counter(fault.file for fault in faults).items()):
        print(f"{file}: {count} places; {' '.join(files_of_tests(tests, file, {}))}")


def main() -> int:
    """Returns 0 where all faults were seen."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="how many faults (40)")
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of the draw: to go on with an earlier one (0)")
    parser.add_argument("--seed", type=int, default=1, help="which faults (1)")
    parser.add_argument("--only", default="", metavar="PATH", help="a file or folder of the package")
    parser.add_argument("--list", action="store_true", help="show files and their tests, run nothing")
    parser.add_argument("--test-seconds", type=float, default=60.0, help="a test that takes longer has seen the fault (60)")
    parser.add_argument("--seconds", type=float, default=180.0, help="of tests for one fault; no test begins later (180)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of all `finally`: no tests go on, no copy stays
    faults = drawn(PROJECT, options.only, options.seed)
    if options.list:
        list_files(faults)
        return 0
    KEPT.mkdir(exist_ok=True)
    times = KEPT / "seconds.json"
    seconds: dict[str, float] = json.loads(times.read_text()) if times.exists() else {}
    limits = Limits(options.test_seconds, options.seconds)
    faults = faults[options.skip : options.skip + options.count]
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copy_project(PROJECT, Path(folder))
        refuse_a_broken_copy(copy)
        for number, fault in enumerate(faults, options.skip + 1):
            verdict = judge(copy, fault, limits, seconds)
            verdicts.append(verdict)
            shown = fault.shown((copy.project / "src" / PACKAGE / fault.file).read_text())
            print(f"{number} {verdict.fate} ({verdict.seconds:.0f} s, {verdict.by}) {shown}", flush=True)
            times.write_text(json.dumps(seconds, indent=1))
            if verdict.fate == "survived":
                with open(KEPT / "survivors.txt", "a") as survivors:
                    survivors.write(f"{options.seed}/{number} {shown}\n")
        verdicts = without_faults(copy, verdicts, limits)
    print(table(verdicts))
    print(f"survivors are in {(KEPT / 'survivors.txt').relative_to(PROJECT)}")
    return 1 if any(verdict.fate != "killed" for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())

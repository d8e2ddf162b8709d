"""What notebooks show, what calls from Python say by themselves, and when."""

from __future__ import annotations

import io
import sys
import types

import pytest
from tests.report.made import marginals
from tests.waiting import until

import markovlogic as mln
from markovlogic.report import progress as shown
from markovlogic.report.progress import LateBar, LogLines, NotebookLine, in_notebook, progress_of

RULES = "page = {P, Q, <b>}\nkind = {U, V}\nK(page, kind!)\nS(page)\n0.8 K(p, V) => S(p)\nS(P) v S(Q).\n".replace("<b>", '"<b>"')


def test_everything_has_a_view_that_escapes_names():
    model = mln.Model.parse(RULES)
    evidence = model.evidence(S={"p": ["P"], "truth": ["?"]})
    result = mln.infer(model, evidence, "K,S")
    others = mln.explain(model, evidence, "K"), mln.symmetries(model, evidence)
    views = [one._repr_html_() for one in (result, model, evidence, *others)]
    for view in views:
        assert "<table" in view and "<b>)" not in view
    assert all("&lt;b&gt;" in view for view in views[:1] + views[2:3])
    assert "guarantee: exact" in views[0] and "hard" in views[1] and "plan: <b>" in views[3] and "orbits" in views[4]


def test_a_result_shows_its_concerns_before_its_numbers():
    import dataclasses

    worse = dataclasses.replace(marginals(sampled=True), notes=("hard clauses may trap <chains>",))
    view = worse._repr_html_()
    assert view.index("may trap &lt;chains&gt;") < view.index("<table")
    assert "R-hat" in view


def test_charts_show_without_a_network():
    bundle = marginals().chart()._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg") and "Friends" in bundle["image/svg+xml"]
    assert marginals().chart().to_dict()["layer"]


def test_concerns_are_warned_of():
    model = mln.Model.parse("p = {A, B}\nS(p)\nT(p)\n30 S(A) <=> S(B)\n0.1 T(A) => S(B)\n")
    with pytest.warns(mln.InferenceWarning, match="chain"):
        mln.infer(model, None, "S,T", method="gibbs", chains=4, draws=20, estimator="sample")


def test_exact_results_warn_of_nothing(recwarn):
    mln.infer(mln.Model.parse(RULES), None, "S")
    assert not recwarn.list


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_appears_after_a_moment_and_goes():
    stream = Terminal()
    bar = LateBar(stream, after=0.05)
    bar.stage("sample", 10)
    bar.advance(3, "halfway there")
    assert not stream.getvalue()
    until(lambda: "sample" in stream.getvalue())
    bar.advance(5)
    bar.close()
    assert "sample" in stream.getvalue()
    quick = Terminal()
    LateBar(quick, after=60).close()
    assert not quick.getvalue()


def test_who_gets_which_progress(monkeypatch):
    with progress_of(False) as silent, progress_of(None) as nothing:
        assert silent is nothing is shown.SILENT
    with progress_of(True) as lines:
        assert isinstance(lines, LogLines)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_of(None) as bar:
        assert isinstance(bar, LateBar)
    own = shown.SILENT
    with progress_of(own) as same:
        assert same is own


class Handle:
    def __init__(self):
        self.shown = []

    def update(self, made):
        self.shown.append(made.data)


def test_a_notebook_gets_a_line_that_goes_away(monkeypatch):
    """Against a stand-in for IPython, which need not be installed."""
    handle = Handle()
    display = types.ModuleType("IPython.display")
    display.HTML = lambda data: types.SimpleNamespace(data=data)
    display.display = lambda made, display_id: handle
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    ipython = types.ModuleType("IPython")
    ipython.get_ipython, ipython.display = lambda: shell, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert in_notebook()
    line = NotebookLine(first=0.02, every=0.02)
    line.stage("sample", 10)
    line.advance(5, "<x>")
    until(lambda: any("5 of 10" in text for text in handle.shown))
    line.close()
    assert any("5 of 10" in text and "&lt;x&gt;" in text and "<progress" in text for text in handle.shown)
    assert handle.shown[-1] == ""
    shell.config = {}
    assert not in_notebook()


def test_an_old_arviz_gets_what_it_knows(monkeypatch):
    import importlib.metadata

    import numpy as np

    from markovlogic.estimation.export import to_arviz

    old = types.ModuleType("arviz")
    old.InferenceData = lambda posterior: ("inference data", posterior)
    monkeypatch.setitem(sys.modules, "arviz", old)
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.23.4" if name == "arviz" else real(name))
    kind, posterior = to_arviz(np.ones((2, 5, 1), bool), ["S(A)"])
    assert kind == "inference data" and posterior["truth"].shape == (2, 5, 1)

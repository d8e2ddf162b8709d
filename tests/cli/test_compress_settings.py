"""Settings of `--compress` on the command line: every word reaches what it is about, or is refused."""

import json

import pytest

import markovlogic as mln_package
from markovlogic.compression.proposals import seeded_source
from markovlogic.compression.table import TABLE, compressor_named
from markovlogic_papers import readings

DRAWING = ("kmeans", "dpmeans", "obj2vec", "random", "drop", "nimfa")


@pytest.fixture
def circle(tmp_path):
    """A dozen people, most of them friends, so that votes of groups go both ways."""
    model, facts = tmp_path / "circle.mln", tmp_path / "circle.db"
    people = ", ".join(f"P{i}" for i in range(12))
    model.write_text(
        f"person = {{{people}}}\nSmokes(person)\nCancer(person)\nFriends(person, person)\n"
        "1.5 Smokes(x) => Cancer(x)\n1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)\n"
    )
    facts.write_text(
        "".join(f"Friends(P{i},P{j})\n" for i in range(12) for j in range(12) if i * j % 5 != 2) + "Smokes(P0)\nCancer(P3)\n"
    )
    return model, facts


def groups(mln, files, tmp_path, *words):
    ran = mln("compress", files[0], "-e", files[1], "-q", "Smokes", "-o", tmp_path / "out", *words)
    assert ran.code == 0, ran
    return (tmp_path / "out" / "mapping.csv").read_text()


def test_the_seed_of_the_run_is_that_of_the_groups(mln, circle, tmp_path):
    call = ("--method", "random", "--ratio", "0.3")
    plain, one, two = (groups(mln, circle, tmp_path, *call, *words) for words in ((), ("--seed", 1), ("--seed", 2)))
    assert plain == groups(mln, circle, tmp_path, *call, "--seed", 0) == groups(mln, circle, tmp_path, *call, "--set", "seed=0")
    assert len({plain, one, two}) == 3
    assert one == groups(mln, circle, tmp_path, *call, "--set", "seed=1")
    assert one == groups(mln, circle, tmp_path, *call, "--set", "seed=1", "--seed", 2)  # its own comes first

    call = ("infer", circle[0], "-e", circle[1], "-q", "Smokes", "--compress", "random", "--ratio", "0.3", "--method", "exact")

    def answer(*words):
        ran = mln(*call, *words)  # which draws nothing itself
        assert ran.code == 0, ran
        return ran.out

    assert answer() == answer("--seed", 0) != answer("--seed", 1)
    assert answer("--seed", 1) == answer("--set", "seed=1")
    ladders = {mln(*call, "--set", "ladder=1", "--seed", seed).err for seed in (1, 2)}
    assert len(ladders) == 2 and all("measured bias" in message for message in ladders)


def test_proposals_are_of_the_seed_of_the_run(circle):
    from markovlogic.methods.options import options_of
    from markovlogic.methods.sampling.lifted_mh import LiftedMH
    from markovlogic.methods.table import method_named
    from markovlogic.running.sampling import Sampling

    method = method_named("lifted-mh")
    options = options_of("lifted-mh", "auto", Sampling(seed=5), proposals="random")
    assert method.settings(options).source == mln_package.RandomGroups(seed=5)
    for source in ("kmeans", mln_package.KMeans()):
        assert method.settings(options_of(LiftedMH(source=source), "auto", Sampling(seed=5))).source == mln_package.KMeans(seed=5)
    assert seeded_source("unary", 5) == "unary" and seeded_source(mln_package.KMeans(seed=2), 5).seed == 2
    assert seeded_source("kmeans", None) == "kmeans"


@pytest.mark.parametrize("name", DRAWING)
def test_seeds_that_no_generator_starts_from_are_refused_and_large_ones_are_taken(name, mln, circle):
    assert {other for other in TABLE if "seed" in vars(compressor_named(other))} == {*DRAWING, "twins"}
    call = ("infer", circle[0], "-e", circle[1], "-q", "Smokes", "--compress", name, "--method", "exact", "--quiet")
    words = ("--set", "embedding=skipgram") if name == "obj2vec" else ()
    ran = mln(*call, "--set", "seed=-1")
    assert ran.code == 2 and f"{name}: the seed is -1" in ran.err
    assert mln(*call, *words, "--set", "seed=99999999999").code == 0
    assert mln(*call, *words, "--seed", "99999999999").code == 0
    with pytest.raises(mln_package.InputError, match="whole number"):
        type(compressor_named(name))(seed=1.5)


def test_what_draws_nothing_says_so_and_not_that_the_numbers_are_exact(mln, circle):
    call = ("infer", circle[0], "-e", circle[1], "-q", "Smokes", "--compress", "random", "--draws", 5, "--seed", 3)
    for words in (
        ("--method", "exact"),
        ("--method", "lifted", "--compress-as", "problem"),
        ("--method", "bp", "--compress-as", "problem"),
        (),
    ):
        ran = mln(*call, *words)
        assert "guarantee unbounded" in ran.err and "numbers are exact" not in ran.err
        assert "--draws had no effect" in ran.err  # the seed had: groups were drawn from it
    assert (
        "no sampling error, so --draws, --seed had no effect"
        in mln(*call, "--compress-as", "problem", "--method", "exact", "--set", "seed=4").err
    )


def test_unknown_settings_name_where_they_were_looked_for(mln, circle, tmp_path):
    call = ("infer", circle[0], "-e", circle[1], "-q", "Smokes", "--compress")
    for words, message in (
        (
            ("kmeans", "--set", "weight=literal"),
            ("neither kmeans nor auto has a setting weight", "did you mean weights?", "ladder"),
        ),
        (("kmeans", "--set", "kmeans.weight=1"), ("neither kmeans nor auto has a setting weight",)),
        (("kmeans", "--method", "bp", "--set", "dumping=0.1"), ("neither kmeans nor bp", "did you mean damping?", "of bp are")),
        (("dpmeans", "--set", "cr=old/new"), ("cr is one of kmeans, obj2vec, random", "settings of dpmeans are")),
        (("drop", "--set", "ladder=1"), ("neither drop nor auto has a setting ladder", "settings of drop are ratio, seed")),
        (("bmf", "--set", "ladder=1"), ("neither bmf nor auto has a setting ladder",)),
        (("kmeans", "--set", "ladder"), ("no value",)),
        (("kmeans", "--ratio", "0.2", "--set", "ratio=0.3"), ("set the same thing",)),
    ):
        ran = mln(*call, *words)
        assert ran.code == 2 and all(part in ran.err for part in message), ran
    assert "name the method with --method" in mln(*call, "kmeans", "--set", "damping=0.1").err
    assert mln(*call, "kmeans", "--method", "bp", "--set", "damping=0.1", "--set", "weights=literal").code == 0
    for other in (("map", "--compress", "dpmeans"), ("compress", "--method", "dpmeans", "-o", tmp_path / "no")):
        ran = mln(other[0], circle[0], "-e", circle[1], *other[1:], "--set", "most_block=3")
        assert ran.code == 2 and "dpmeans has no setting most_block" in ran.err and "did you mean most_blocks?" in ran.err, ran
    assert not (tmp_path / "no").exists()


def test_settings_are_judged_together(mln, circle, tmp_path):
    call = ("--method", "random")
    tenth = groups(mln, circle, tmp_path, *call)
    assert tenth == groups(mln, circle, tmp_path, *call, "--set", "cr=old/new")  # the default is the same share
    assert groups(mln, circle, tmp_path, *call, "--ratio", 0.25) == groups(
        mln, circle, tmp_path, *call, "--ratio", 4, "--set", "cr=old/new"
    )
    ran = mln("compress", circle[0], *call, "-o", tmp_path / "no", "--ratio", 0.1, "--set", "cr=old/new")
    assert ran.code == 2 and "expected old over new size, 1 or more" in ran.err
    finer, other = readings.KMeans(cr="old/new").finer(), mln_package.KMeans().finer()
    assert finer.ratio == 5.0 and other.ratio == 0.2


USES = {
    "proposals": ("infer", "--method", "lifted-mh", "--proposals", "random", "--draws", "20"),
    "worlds": ("map", "--compress", "random"),
    "files": ("compress", "--method", "random"),
    "counts": ("infer", "--compress", "random"),
}
UNUSED = {
    "proposals": ("weights=literal", "weights=count", "evidence=clamp", "diag=split", "random.alpha=lazy", "ladder=1"),
    "worlds": ("weights=count", "weights=field", "evidence=split", "alpha=lazy", "ladder=1"),
    "files": ("weights=uniform", "weights=count", "evidence=split", "alpha=scan", "ladder=2"),
    "counts": ("orbits=twin",),
}


@pytest.mark.parametrize("use", UNUSED)
def test_no_setting_is_taken_and_ignored(use, mln, circle, tmp_path):
    call, stays = (USES[use][0], circle[0], "-e", circle[1], "-q", "Smokes", *USES[use][1:]), tmp_path / "out"
    output = ("-o", stays) if use == "files" else ()
    assert mln(*call, *output, "--set", "weights=default", "--set", "seed=1").code in (0, 1)
    for words in UNUSED[use]:
        ran = mln(*call, *output, "--set", words)
        assert ran.code == 2 and "leave it out" in ran.err, (words, ran)
    assert use != "proposals" or mln(*call, "--set", "features=sat").code == 2  # of kmeans


def test_settings_that_have_a_say_have_one(mln, circle, tmp_path):
    call = ("--method", "random", "--ratio", "0.3")
    groups(mln, circle, tmp_path, *call)
    facts = (tmp_path / "out" / "evidence.db").read_text()
    for words in ("diag=split", "evidence=representatives"):
        groups(mln, circle, tmp_path, *call, "--set", words)
        assert (tmp_path / "out" / "evidence.db").read_text() != facts
    with pytest.raises(mln_package.InputError, match="groups that only propose"):
        mln_package.infer(*map(str, circle), "Smokes", method=mln_package.LiftedMH(source=readings.KMeans(weights="literal")))


def test_counts_are_no_network(mln, circle):
    call = ("infer", circle[0], "-e", circle[1], "-q", "Smokes", "--compress", "random")
    for kind in ("counting", "ground"):
        ran = mln(*call, "--network", kind)
        assert ran.code == 2 and f"--network {kind}: the compression made counts" in ran.err, ran
        assert mln(*call, "--network", kind, "--set", "weights=literal", "--draws", "50", "--quiet").code in (0, 1)


def test_twins_are_read_as_the_settings_say(mln, circle, tmp_path):
    stats = tmp_path / "s.json"
    call = ("infer", circle[0], "-e", circle[1], "-q", "Smokes", "--compress", "twins", "--draws", "200", "--stats", stats)
    assert "the problem stays as it is" in mln(*call, "--method", "exact", "--compress-as", "problem").err
    assert "the problem stays as it is" not in mln(*call, "--set", "alpha=lazy").err
    assert json.loads(stats.read_text())["method"] == "gibbs"
    assert "merging overrides" in mln(*call, "--set", "evidence=clamp", "--method", "exact").err

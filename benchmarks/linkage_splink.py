"""Splink with settings of its documentation: `linkage_splink.py NAME TABLE PREFIX PAGE` writes PREFIX-0.5.csv and PREFIX-0.9.csv.

Run by `linkage.py` with an interpreter that has Splink 5; nothing of markovlogic is imported. PAGE says which page of the
documentation, where it has several models of the same table.
"""

import sys
from typing import Any

import pandas as pd  # type: ignore[import-untyped,unused-ignore]


def people(cl: Any, block_on: Any, page: str) -> tuple[Any, ...]:
    """RLdata: names and birthdays in three columns."""
    comparisons = [
        *(cl.NameComparison(column) for column in ("fname_c1", "lname_c1")),
        *(cl.ExactMatch(column) for column in ("fname_c2", "lname_c2")),
        *(cl.LevenshteinAtThresholds(column, 1) for column in ("by", "bm", "bd")),
    ]
    rules = [("fname_c1", "lname_c1"), ("by", "bm", "bd"), ("fname_c1", "by"), ("lname_c1", "by"), ("lname_c1", "bd", "bm")]
    rules.append(("fname_c1", "bd", "bm"))
    sure = [
        "l.fname_c1 = r.fname_c1 and l.lname_c1 = r.lname_c1 and l.by = r.by",
        "l.lname_c1 = r.lname_c1 and l.by = r.by and l.bm = r.bm and l.bd = r.bd",
    ]
    training = [block_on("fname_c1", "lname_c1"), block_on("by", "bm", "bd")]
    return comparisons, [block_on(*rule) for rule in rules], sure, 0.7, 1e6, training


def fake(cl: Any, block_on: Any, page: str) -> tuple[Any, ...]:
    """The models of fake_1000 that the documentation has; the last two are those of two pages, with all pairs compared."""
    names = [cl.NameComparison("first_name"), cl.NameComparison("surname")]
    born = cl.DateOfBirthComparison("dob", input_is_string=True)
    rest = [cl.ExactMatch("city").configure(term_frequency_adjustments=True), cl.EmailComparison("email")]
    tutorial = [*names, cl.LevenshteinAtThresholds("dob", 1), *rest]
    quickstart = [names[0], cl.JaroAtThresholds("surname"), born, *rest]
    labels = [cl.ForenameSurnameComparison("first_name", "surname"), born, *rest]
    close = "l.first_name = r.first_name and levenshtein(r.surname, l.surname) <= 2"
    several = [
        "l.first_name = r.first_name and levenshtein(r.dob, l.dob) <= 1",
        "l.surname = r.surname and levenshtein(r.dob, l.dob) <= 1",
        close,
        "l.email = r.email",
    ]
    by_name, by_date, by_mail = block_on("first_name", "surname"), block_on("dob"), block_on("email")
    few = [block_on("first_name", "dob"), close, by_mail]
    single = {column: block_on(column) for column in ("first_name", "surname", "dob", "email", "city")}
    four = [single[column] for column in ("first_name", "surname", "dob", "email")]
    models = {
        "quickstart": (quickstart, [block_on("first_name", "dob"), single["surname"]], [by_name], 1e6, [by_name, by_mail]),
        "tutorial": (tutorial, [block_on("first_name", "city"), single["surname"]], few, 2e6, [by_name, by_date]),
        "evaluation": (tutorial, [single[c] for c in ("first_name", "city", "email", "dob")], few, 2e6, [by_name, by_date]),
        "labels": (labels, four, several, 1e6, [by_date, by_mail, by_name]),
        "quickstart, all pairs": (quickstart, ["1=1"], [by_name], 1e6, [by_name, by_mail]),
        "labels, all pairs": (labels, ["1=1"], several, 1e6, [by_date, by_mail, by_name]),
    }
    comparisons, rules, sure, pairs, training = models[page]
    return comparisons, rules, sure, 0.7, pairs, training


def historical(cl: Any, block_on: Any, page: str) -> tuple[Any, ...]:
    """The example of 50,000 historical persons."""
    near = "substr(postcode_fake,1,3)"
    rules = [
        ("substr(first_name,1,3)", "substr(surname,1,4)"),
        ("surname", "dob"),
        ("first_name", "dob"),
        ("postcode_fake", "first_name"),
        ("postcode_fake", "surname"),
        ("dob", "birth_place"),
        (near, "dob"),
        (near, "first_name"),
        (near, "surname"),
        ("substr(first_name,1,2)", "substr(surname,1,2)", "substr(dob,1,4)"),
    ]
    comparisons = [
        cl.ForenameSurnameComparison("first_name", "surname", forename_surname_concat_col_name="first_name_surname_concat"),
        cl.DateOfBirthComparison("dob", input_is_string=True),
        cl.PostcodeComparison("postcode_fake"),
        cl.ExactMatch("birth_place").configure(term_frequency_adjustments=True),
        cl.ExactMatch("occupation").configure(term_frequency_adjustments=True),
    ]
    sure = [
        "l.first_name = r.first_name and l.surname = r.surname and l.dob = r.dob",
        "substr(l.first_name,1,2) = substr(r.first_name,1,2) and l.surname = r.surname "
        "and substr(l.postcode_fake,1,2) = substr(r.postcode_fake,1,2)",
        "l.dob = r.dob and l.postcode_fake = r.postcode_fake",
    ]
    return comparisons, [block_on(*rule) for rule in rules], sure, 0.6, 5e6, [block_on("first_name", "surname"), block_on("dob")]


def main(name: str, table: str, prefix: str, page: str) -> None:
    import splink.comparison_library as cl  # type: ignore[import-not-found,unused-ignore]
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on  # type: ignore[import-not-found,unused-ignore]

    settings_of = {"fake_1000": fake, "historical_figures_50k": historical}.get(name, people)
    comparisons, rules, sure, recall, pairs, training = settings_of(cl, block_on, page)
    frame = pd.read_csv(table, dtype=str)
    if "surname" in frame:
        frame["first_name_surname_concat"] = frame["first_name"] + " " + frame["surname"]
    key = "rec_id" if "rec_id" in frame else "unique_id"
    settings = SettingsCreator(
        link_type="dedupe_only",
        unique_id_column_name=key,
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=rules,
    )
    database = DuckDBAPI()
    linker = Linker(database.register(frame), settings)
    linker.training.estimate_probability_two_random_records_match(sure, recall=recall)
    linker.training.estimate_u_using_random_sampling(max_pairs=pairs, seed=1)
    for rule in training:
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    predictions = linker.inference.predict(threshold_match_probability=0.01)
    for threshold in (0.5, 0.9):
        found = linker.clustering.cluster_pairwise_predictions_at_threshold(predictions, threshold_match_probability=threshold)
        clusters = found.as_pandas_dataframe() if hasattr(found, "as_pandas_dataframe") else found.as_duckdbpyrelation().df()
        clusters[[key, "cluster_id"]].set_axis(["id", "cluster"], axis=1).to_csv(f"{prefix}-{threshold}.csv", index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What a user chose about how to infer, as one value that is checked once: `infer`, `explain` and `cluster` start from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from markovlogic.compression.table import NONE, compressor_of
from markovlogic.errors import InputError, known_name
from markovlogic.estimation.estimator import CHOICES
from markovlogic.methods.base import InferOptions, Method, MethodSettings
from markovlogic.methods.table import AUTO, TABLE, all_methods, method_named, proposing
from markovlogic.networks.base import COMPRESSED, NetworkKind
from markovlogic.running.sampling import ABOUT_WORLDS, ORBITS, Sampling

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.system.settings_parser import Owner


NETWORKS = (AUTO, NetworkKind.GROUND, NetworkKind.COUNTING)  # what --network may name


def options_of(
    method: str | MethodSettings,
    network: str = AUTO,
    sampling: Sampling | None = None,
    compress: str | Compressor | None = None,
    rank: int | None = None,
    ratio: float | None = None,
    compress_as: str = AUTO,
    proposals: str | Compressor | None = None,
) -> InferOptions:
    """All of it, checked before anything is read. rank and ratio are of the compression, or else of the proposals."""
    sampling = sampling or Sampling()
    settings = method if isinstance(method, MethodSettings) else None
    name = str(method) if settings is None else settings.method
    chosen = None if name == AUTO else method_named(name)
    kind = known_name(network, "network", NETWORKS)
    known_name(sampling.estimator, "estimator", CHOICES)
    known_name(sampling.orbits, "kind of orbits", ORBITS)
    sampling.check()
    made = InferOptions(sampling, chosen, settings, None if kind == AUTO else NetworkKind(kind))
    if chosen is not None:
        _check_fit(chosen, made)
    given, none = (rank, ratio), (None, None)
    replaces = compress is not None and compress != NONE
    for_compression, for_proposals = (given, none) if replaces or proposals is None else (none, given)
    compressor = compressor_of(compress, *for_compression, sampling.seed)
    source = compressor_of(proposals, *for_proposals, sampling.seed)
    if compressor is not None or compress_as != AUTO:
        from markovlogic.compression.into import check_into

        check_into(compress_as, compressor)
        made = replace(made, compressor=compressor, compress_as=compress_as)
    return made if source is None else _with_proposals(made, source)


def _with_proposals(options: InferOptions, source: Compressor) -> InferOptions:
    """With a source of proposals, for a method that takes them."""
    from markovlogic.compression.purposes import TO_PROPOSE, refuse_unused

    refuse_unused(source, TO_PROPOSE)
    able = proposing()
    if options.method is None:
        options = replace(options, method=able[0])
        _check_fit(able[0], options)
    elif not options.method.takes_proposals:
        raise InputError(
            f"--proposals {source.name}: {options.method.name} takes no proposals",
            hint=f"choose --method {' or '.join(method.name for method in able)}, or replace the problem:"
            f" --compress {source.name}",
        )
    return replace(options, proposals=source)


def _check_fit(method: Method, options: InferOptions) -> None:
    """Refuse options that a method has no use for and could not obey."""
    about = [name for name in options.sampling.about_draws() if not (method.writes_worlds and name in ABOUT_WORLDS)]
    if not method.samples and about:
        others = ", ".join(other.name for other in all_methods() if other.samples)
        raise InputError(
            f"{', '.join(about)}: only for sampling methods, not for {method.name}",
            hint=f"leave it out, or choose one of {others}",
        )
    if options.network is not None and options.network not in method.networks:
        works = ", ".join(
            kind if kind is not NetworkKind.NONE else "the problem itself" for kind in method.networks if kind not in COMPRESSED
        )
        raise InputError(
            f"{method.name} does not work on the {options.network} network; it works on {works}",
            hint="leave --network out, or choose another method",
        )


def settings_from(method: str, words: Sequence[str]) -> MethodSettings | None:
    """The settings of a method as the words of `--set` change them; None where words can change none of them."""
    from markovlogic.system.settings_parser import parsed_settings

    found: MethodSettings | None = parsed_settings(words, [owner_of(method)])[0]
    return found


def owner_of(method: str) -> Owner:
    """A method by name, as the parser of `--set` takes it; auto has no settings."""
    from markovlogic.system.settings_parser import Owner

    return Owner(method, None if method == AUTO else method_named(method).plain_settings())


def methods_with(setting: str) -> list[str]:
    """Methods that have a setting of this name."""
    from markovlogic.system.settings_parser import every_setting

    return [name for name in TABLE if setting in every_setting(owner_of(name).settings, name)]

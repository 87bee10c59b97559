"""What the installation is, holds and does: schema, stats, models, doctor."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._costly import kept_in
from kb_app._data_dir import INDEX_PARTS, DataDir
from kb_app._ingest.making.serving import is_address
from kb_app._ingest.making.versions import CHUNKERS, PARSERS
from kb_app._media import AUDIO, MEDIA, OCR, extras_of
from kb_app._models import quality_of
from kb_app._parts import Parts
from kb_app._search.hits import Freshness
from kb_app._trained import find_trained
from kb_app.config import Config, Source
from kb_app.editors import desktop_opener, viewer_of
from kb_app.jobs import jobs, last_ingest_at
from kb_app.paths import environment
from kb_core import wire
from kb_core.clock import to_epoch
from kb_core.control import ADDED_SOURCE, Control
from kb_core.errors import InvalidInput, KbError, NotIndexed
from kb_core.ports import Embedder, IndexSnapshot
from kb_search.embed import describe, list_packs
from kb_search.opening import DAMAGED_HINT, INDEX_VERSION

if TYPE_CHECKING:
    from kb_core.control import EmbeddingModel
    from kb_core.wire import types

__all__ = ["doctor", "models", "part_bytes", "preview_source", "schema", "stats"]

_LOW_DISK_BYTES = 500 * 1024 * 1024
_EXACT = 1e-6
"""How far a score may be from a fresh index's: what rounding alone moves it by."""
_KNOWN_SENTENCE = "kebab finds passages by words and by meaning"
_UNLIKE_SENTENCE = "the recipe needs two eggs and a little salt"

Json = dict[str, Any]
Check = dict[str, Any]


def schema(config: Config, parts: Parts, snapshot: IndexSnapshot | None) -> types.Schema:
    """Return schema.v1: what this installation can do now, and what is in it."""
    return wire.schema_report(
        capabilities={
            "aggregated_search": True,
            "bulk_search": True,
            "codebase_search": True,
            "exact_text": find_spec("re2") is not None,
            "incremental_ingest": True,
            "ingest_cancellation": True,
            "ingest_progress": True,
            "json_mode": True,
            "mcp_server": find_spec("kb_mcp") is not None,
            "multi_source": True,
            "multilingual": config.embedding.model == "multilingual-e5-small",
            "ocr": OCR.is_installed,
            "readonly": True,
            "rerank": _can_rerank(parts),
            "search_trace": True,
            "single_file_ingest": True,
            "streaming_ask": config.ask.provider != "none",
            "transcription": AUDIO.is_installed,
            "verbatim_fetch": True,
            "watch": True,
        },
        models={"embedding": _model_key(config, parts), "index": INDEX_VERSION, **_versions()},
        counts=_counts(config, snapshot, to_epoch(parts.clock())),
    )


def stats(config: Config, snapshot: IndexSnapshot | None, now: int) -> types.Stats:
    """Return stats.v1."""
    return wire.stats_report(_counts(config, snapshot, now))


def models(config: Config, snapshot: IndexSnapshot | None) -> types.ModelList:
    """Return model_list.v1: packs that are present, selectable, active."""
    embedded = snapshot.control.stats.get("embedded", {}) if snapshot else {}
    rows = []
    for status in list_packs():
        name = status.pack.name
        active = name == config.embedding.model
        model = describe(name, quality_of(config) if active else None)
        rows.append(
            {
                "name": name,
                "provider": model.provider,
                "present": status.present,
                "selectable": status.selectable,
                "active": active,
                "key": model.key,
                "revision": model.revision,
                "dimensions": model.dimensions,
                "max_tokens": model.max_tokens,
                "quantization": model.quantization,
                "pooling": model.pooling,
                "licence": model.licence,
                "languages": model.languages,
                "embedded": embedded.get(model.key, 0),
                "detail": status.reason or None,
            }
        )
    return wire.model_list(rows)


def preview_source(
    config: Config,
    root: str,
    include: Sequence[str],
    exclude: Sequence[str],
    follow_links: bool,  # noqa: FBT001 - passed on as it was given
) -> Json:
    """Return what the folder *root* holds, unread: what would be indexed, what not, and why."""
    from kb_app._ingest.preview import preview
    from kb_app._ingest.settings import ingest_settings

    if not Path(root).is_dir():
        raise InvalidInput(
            f"'{root}' is not a folder" if Path(root).exists() else f"no folder '{root}'",
            hint="name a folder; all of it is looked at, but for what is ignored",
            details={"field": "path", "value": os.fsencode(root).decode("utf-8", "replace")},
        )
    settings = ingest_settings(config)
    return preview(root, settings, include=include, exclude=exclude, follow_links=follow_links)


def part_bytes(data_dir: Path) -> dict[str, int]:
    """Return the bytes on disk of each part, write-ahead files included."""
    return {
        "duckdb": sum(_size(path) for path in DataDir(data_dir).parts("kebab.duckdb")),
        "tantivy": _tree_size(data_dir / "lexical"),
        "vectors": _tree_size(data_dir / "vectors"),
        "assets": _tree_size(data_dir / "assets"),
        "costly": kept_in(DataDir(data_dir).costly).bytes,
    }


def doctor(
    config: Config,
    parts: Parts,
    snapshot: Callable[[], IndexSnapshot],
    kept: Iterable[Check],
    deep: Iterable[Check] = (),
) -> types.Doctor:
    """Return doctor.v1. Checks do not stop at the first that fails.

    *kept* are those of the safety copies, *deep* those that read everything.
    """
    checks = [
        *_check_configuration(config),
        *_check_directories(config),
        *_check_truth(config, parts),
        *kept,
        *_check_engine(parts),
        *_check_index(config, parts, snapshot),
        *_check_model(config, parts.embedder),
        *_check_servers(config),
        *_check_gate(parts),
        *_check_writer(parts),
        _check_recognition(config),
        _check_extras(),
        _check_viewers(config),
    ]
    return wire.doctor([*checks, *deep])


def _counts(config: Config, snapshot: IndexSnapshot | None, now: int) -> types.Stats:
    control = snapshot.control if snapshot else Control(store_id="")
    stale = 0
    if snapshot is not None and config.search.stale_threshold_days:
        days = config.search.stale_threshold_days
        fresh = Freshness(snapshot, now=now, threshold_days=days)
        stale = fresh.count_overdue()
    last = last_ingest_at(config.storage.data_dir, control.stats)
    return wire.stats(
        {**control.stats, "last_ingest_at": last},
        index_bytes=part_bytes(config.storage.data_dir),
        stale_doc_count=stale,
        corpus_revision=control.corpus_revision,
    )


def _versions() -> Mapping[str, str | None]:
    return {"parser": " ".join(sorted(PARSERS)), "chunker": " ".join(sorted(CHUNKERS))}


def _can_rerank(parts: Parts) -> bool:
    """Say whether the model has vectors of tokens: one that pools inside its graph has none."""
    return (model := _described(parts)) is not None and model.pooling != "none"


def _described(parts: Parts) -> EmbeddingModel | None:
    """Return the model; ``None`` where there is none, or its own check says what is wrong."""
    try:
        return parts.model()
    except KbError:
        return None


def _model_key(config: Config, parts: Parts) -> str | None:
    model, named = _described(parts), config.embedding.model
    return model.key if model else named if named != "none" else None


def _check_gate(parts: Parts) -> Iterator[Check]:
    """Say where nothing is known of how well a model tells that there is no answer."""
    from kb_app._ask.gate import is_measured  # what answers need is theirs alone

    if _can_rerank(parts) and (model := parts.model()) and not is_measured(model.name):
        yield {
            "name": "answers",
            "ok": True,
            "detail": f"{model.name} was not measured: kebab ask refuses nothing with it, "
            "and says no confidence",
        }


def _check_configuration(config: Config) -> Iterator[Check]:
    where = str(config.file) if config.is_found else "defaults (no file)"
    yield {"name": "configuration", "ok": True, "detail": where}
    for source in config.sources:
        there = source.root.is_dir() and os.access(source.root, os.R_OK | os.X_OK)
        yield {
            "name": f"source {source.id}",
            "ok": there,
            "detail": str(source.root)
            if there
            else f"{source.root} is not a folder that can be read",
            "hint": None if there else _way_into(source),
        }
    for warning in config.warnings:
        yield {"name": "configuration", "ok": True, "detail": warning}


def _way_into(source: Source) -> str:
    if source.root.is_dir():
        return "give yourself the right to read it; what is known of it stays until then"
    return f"mount it, or 'kebab remove {shlex.quote(source.id)}'"


def _check_directories(config: Config) -> Iterator[Check]:
    data_dir = config.storage.data_dir
    nearest = next(p for p in (data_dir, *data_dir.parents) if p.exists())
    writable = os.access(nearest, os.W_OK)
    yield {
        "name": "data directory",
        "ok": writable,
        "detail": f"{data_dir} {'can' if writable else 'cannot'} be written",
        "hint": None if writable else "searching works; to index, change its permissions",
    }
    free = shutil.disk_usage(nearest).free
    yield {
        "name": "disk space",
        "ok": free >= _LOW_DISK_BYTES,
        "detail": f"{free // 1024**2:,} MB free",
        "hint": None if free >= _LOW_DISK_BYTES else "free some space before the next ingest",
    }


def _check_truth(config: Config, parts: Parts) -> Iterator[Check]:
    """Say where the store is gone or cut off: what was made of it answers as before."""
    data = DataDir(config.storage.data_dir)
    if data.awaits_import:
        yield {
            "name": "store",
            "ok": False,
            "detail": f"an import was interrupted at its last step; it is whole in {data.imported}",
            "hint": "run 'kebab ingest': it puts that in its place first",
        }
    left = [path.name for path in data.parts(*INDEX_PARTS, "assets")]
    if left and not data.store.exists():
        yield {
            "name": "store",
            "ok": False,
            "detail": f"{data.store} is not there; {', '.join(left)} still are",
            "hint": "put it back, or run 'kebab ingest': it builds the store again from your "
            "files and from what was added; searches go on from the old index meanwhile",
        }
    # While a job writes, a block may be there in part.
    if data.store.exists() and jobs(data.root, None).running is None and parts.is_cut_off():
        yield {
            "name": "store",
            "ok": False,
            "detail": f"{data.store} is damaged: no store has {data.store.stat().st_size:,} bytes",
            "hint": "put a copy of it back, or run 'kebab doctor --repair', which saves what can "
            "be read, also of the index",
        }


def _check_engine(parts: Parts) -> Iterator[Check]:
    """Say what engine answers, where the index is not in the data directory."""
    try:
        said = parts.engine()
    except KbError as error:
        yield {"name": "engine", "ok": False, "detail": str(error), "hint": error.hint}
        return
    if said is not None:
        yield {"name": "engine", "ok": True, "detail": said, "hint": None}


def _check_index(
    config: Config, parts: Parts, snapshot: Callable[[], IndexSnapshot]
) -> Iterator[Check]:
    try:
        found = snapshot()
    except NotIndexed as error:
        present = DataDir(config.storage.data_dir).store.exists()
        yield {
            "name": "index",
            "ok": not present,
            "detail": str(error) if present else "nothing has been indexed yet",
            "hint": error.hint,
        }
        return
    except KbError as error:
        yield {"name": "index", "ok": False, "detail": str(error), "hint": error.hint}
        return
    control = found.control
    yield from _check_left(config, control)
    for what, wrong in found.damage.items():
        yield {"name": "index", "ok": False, "detail": f"{what}: {wrong}", "hint": DAMAGED_HINT}
    try:
        chunks, drift = found.count(None), found.drift()
    except KbError as error:
        yield {"name": "index", "ok": False, "detail": str(error), "hint": error.hint}
        return
    counted = control.stats.get("chunk_count", 0)
    yield {
        "name": "index",
        "ok": chunks == counted,
        "detail": f"revision {control.corpus_revision}, {chunks:,} chunks"
        + ("" if chunks == counted else f", the store has {counted:,}"),
        "hint": None if chunks == counted else "'kebab reset --index-only' and 'kebab ingest'",
    }
    exact = drift <= _EXACT
    yield {
        "name": "ranking",
        "ok": exact,
        "detail": "scores by words are those of a fresh index"
        if exact
        else f"mean lengths are off by {drift:.1e}, and scores with them: a run goes on, or was "
        "ended in the middle",
        "hint": None if exact else "run 'kebab ingest': its end mends that",
    }
    if _described(parts) or config.embedding.model == "none":
        yield _embedded(control, _model_key(config, parts))


def _check_left(config: Config, control: Control) -> Iterator[Check]:
    """Say what is left of sources that were removed, and of what was being forgotten."""
    known = {ADDED_SOURCE, *(source.id for source in config.sources)}
    known.update(config.search.allowed_sources)
    counted = control.stats.get("source_breakdown", {})
    for name in config.search.allowed_sources:
        there = name in control.sources
        yield {
            "name": "allowed source",
            "ok": there,
            "detail": f"{name}: {counted.get(name, 0):,} documents"
            if there
            else f"search.allowed_sources names '{name}', and the index has no such source",
            "hint": None if there else "ask whoever indexes for the names: 'kebab stats'",
        }
    for name in sorted({*control.sources, *counted} - known):
        yield {
            "name": "removed source",
            "ok": True,
            "detail": f"{name}: {counted.get(name, 0):,} documents of it are still found",
            "hint": f"'kebab forget source {name}' takes it out of the files, "
            "'kebab add' of its folder makes it a source again",
        }
    if DataDir(config.storage.data_dir).forgetting.exists():
        yield {
            "name": "forgetting",
            "ok": False,
            "detail": "a process ended while it forgot something, and not all of it is gone",
            "hint": "run 'kebab ingest': it goes on with that first",
        }


def _embedded(control: Control, key: str | None) -> Check:
    embedded = control.embedded(key) if key else 0
    counted = control.stats.get("chunk_count", 0)
    return {
        "name": "embeddings",
        "ok": True,
        "detail": f"{embedded:,} of {counted:,} chunks have a vector of {key}"
        if key
        else "none: search is by words alone",
        "hint": None if embedded >= counted or key is None else "run 'kebab embed'",
    }


def _check_model(config: Config, embedder: Callable[[], Embedder]) -> Iterator[Check]:
    if config.embedding.model == "none":
        yield {"name": "embedding model", "ok": True, "detail": "switched off"}
        return
    try:
        model = embedder()
        near = _cosine(model, _KNOWN_SENTENCE, _KNOWN_SENTENCE)
        far = _cosine(model, _KNOWN_SENTENCE, _UNLIKE_SENTENCE)
    except KbError as error:
        yield {"name": "embedding model", "ok": False, "detail": str(error), "hint": error.hint}
        return
    yield {
        "name": "embedding model",
        "ok": near > far,
        "detail": f"{model.model.key}, {model.model.dimensions} dimensions; "
        f"a sentence is nearer to itself ({near:.2f}) than to another ({far:.2f})",
    }


def _check_writer(parts: Parts) -> Iterator[Check]:
    """Yield whether the language model can be asked, where one is configured."""
    try:
        model = parts.language_model()
        if model is None:
            return
        model.check()
    except KbError as error:
        yield {"name": "language model", "ok": False, "detail": str(error), "hint": error.hint}
    else:
        where = model.name.remote
        sent = f"; questions and their evidence are sent to {where}" if where else ""
        told = f"{model.name.id} by {model.name.provider}{sent}"
        yield {"name": "language model", "ok": True, "detail": told, "hint": None}


def _check_servers(config: Config) -> Iterator[Check]:
    """Yield where recordings and pictures are sent, where a server is configured for them."""
    listens = config.audio.endpoint if config.audio.engine != "local" else ""
    servers = (
        ("speech server", listens, "[audio] endpoint", "what is heard in recordings is"),
        ("caption server", config.ocr.caption_endpoint, "[ocr] caption_endpoint", "pictures are"),
    )
    for name, address, setting, sent in servers:
        if not address:
            continue
        is_ok = is_address(address)
        detail = f"{sent} sent to {address}" if is_ok else f"{setting} {address!r} is no address"
        hint = None if is_ok else "give it as http://localhost:8000/v1"
        yield {"name": name, "ok": is_ok, "detail": detail, "hint": hint}


def _check_recognition(config: Config) -> Check:
    """Say whether pictures of text are read, and in which languages."""
    check: Check = {"name": "text recognition", "ok": True, "hint": None}
    if not OCR.is_installed:
        detail = "pictures and scanned pages are not read"
        return {**check, "detail": detail, "hint": OCR.install}
    trained = find_trained(config.ocr.tessdata, environment())
    there = [each.lang for each in trained if each.is_language]
    missing = [lang for lang in config.ocr.languages if lang not in there]
    hint = (
        "more languages: your system's packages of tesseract, such as tesseract-ocr-kor, or "
        "files of trained data (*.traineddata) in a folder that [ocr] tessdata names"
    )
    if missing or not there:
        detail = f"no trained data of {', '.join(missing) or 'any language'}"
        return {**check, "ok": False, "detail": detail, "hint": hint}
    return {**check, "detail": f"reads {', '.join(there)}", "hint": hint}


def _check_extras() -> Check:
    """Say which optional parts are installed, and what is skipped without the others."""
    extras = [extra for row in MEDIA.values() for extra in extras_of(row)]
    missing = {extra.name: extra for extra in extras if not extra.is_installed}
    there = sorted({extra.name for extra in extras} - missing.keys())
    named = [f"installed: {', '.join(there)}"] if there else []
    named += [f"not installed: {', '.join(sorted(missing))}"] if missing else []
    hint = "; ".join(sorted(extra.install for extra in missing.values())) or None
    detail = "; ".join(named) or "none is needed"
    return {"name": "extras", "ok": True, "detail": detail, "hint": hint}


def _check_viewers(config: Config) -> Check:
    """Say what opens files at a place that no editor shows, and which program is not there."""
    environ, found, missing = environment(), [], []
    otherwise = "the desktop" if desktop_opener(environ) else "nothing"
    for media in ("pdf", "html", "audio", "video"):
        known = viewer_of(media, environ)
        configured = getattr(config.viewers, media) or config.viewers.other
        name = shlex.split(configured)[0] if configured else known[0] if known else otherwise
        is_missing = bool(configured) and shutil.which(name, path=environ.get("PATH")) is None
        missing += [name] if is_missing else []
        found.append(f"{media} by {name}{', which is not found' if is_missing else ''}")
    hint = None
    if missing:
        programs = " and ".join(dict.fromkeys(missing))
        hint = f"install {programs}, or change [viewers] in {config.file}"
    elif any(each.endswith(" by nothing") for each in found):
        hint = f"name programs under [viewers] in {config.file}, to open files with 'kebab cite'"
    return {"name": "viewers", "ok": not missing, "detail": ", ".join(found), "hint": hint}


def _cosine(model: Embedder, question: str, passage: str) -> float:
    import struct

    from kb_core.quantization import dequantize

    query = struct.unpack(f"<{model.model.dimensions}f", model.embed_query(question))
    vector = dequantize(model.embed_passages([passage])[0])
    return float(sum(a * b for a, b in zip(query, vector, strict=True)))


def _tree_size(folder: Path) -> int:
    return sum(_size(path) for path in folder.rglob("*")) if folder.is_dir() else 0


def _size(path: Path) -> int:
    try:
        return 0 if path.is_dir() else path.lstat().st_size
    except OSError:  # merged or compacted away meanwhile
        return 0

"""The way into a Ray cluster and out of it, without a trace of Ray on the person's screen.

But for one line of its core, which has no switch: a node that is killed while it holds what
came of a large file makes Ray write to standard error that it tries to recover a lost object.

A cluster of this run's own is on loopback alone, with a token that nobody else has, without
dashboard and usage statistics, its logs in a temporary folder that goes with it. One that is
named is somebody's: nothing of it is changed.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kb_core.errors import InvalidInput, IoError, MissingExtra

__all__ = ["AUTO", "environment_of", "joined"]

AUTO = "auto"
"""The address of whatever cluster this machine belongs to, as Ray finds it."""

_PRINTS = "print_to_stdstream"
_REACH_SECS = 10.0
_OBJECTS_BYTES = 200_000_000
_LONGEST_TMP = 40
"""Sockets lie below the temporary folder, and their names may not be longer than 107 bytes."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of a change to come
}
_OWN = {
    # Despite its name: with it, Ray uses loopback addresses on any system.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # Seconds for its first process to start, where the machine is busy.
    "RAY_NUM_REDIS_GET_RETRIES": "120",
}
"""What a cluster of this run's own is told; Ray reads it when it is imported."""


@contextmanager
def joined(address: str, slots: int) -> Generator[Any]:
    """Give the module ``ray``, joined to the cluster at *address*; leave it at the end.

    Without an address, the cluster is one of its own, with *slots* processors. A process that
    has joined one already stays in that. Raises ``MissingExtra``, ``InvalidInput`` for what is
    no address, and ``IoError`` where there is no cluster to join.
    """
    if find_spec("ray") is None:
        raise MissingExtra(
            "reading with Ray needs the extra 'ray', which is not installed",
            hint="in kebab's folder pip install 'packages/kb-cli[ray]', "
            'or leave [ingest] executor at "processes"',
            details={"extra": "ray"},
        )
    _check(address)
    _silence()
    with environment_of(address):
        import ray

        if ray.is_initialized():
            yield ray
            return
        with _temporary() if not address else _nothing() as folder, _unheard(ray):
            _init(ray, address, slots, folder)
            try:
                yield ray
            finally:
                ray.shutdown()


def _check(address: str) -> None:
    """Refuse what is no address of a cluster, or one that nobody answers at."""
    host, _, port = address.rpartition(":")
    if address in {"", AUTO}:
        return
    host = host.removeprefix("[").removesuffix("]")
    if not host or "/" in host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise InvalidInput(
            f"ray_address is {address!r}; expected HOST:PORT of a head node, or {AUTO!r}",
            hint="'ray start --head' prints it",
            details={"field": "ingest.ray_address", "value": address},
        )
    try:
        socket.create_connection((host, int(port)), _REACH_SECS).close()
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from error


def _unreachable(address: str, why: str) -> IoError:
    if not address:
        return IoError(
            f"Ray does not start here: {why}", hint="leave --workers ray out, or name a cluster"
        )
    return IoError(
        f"cannot join the Ray cluster at {address!r}: {why}",
        hint="this machine has to be a node of it ('ray start --address HOST:PORT', with the "
        "same Ray, Python and token); 'ray status' tells; or leave --workers ray out",
        details={"field": "ingest.ray_address", "value": address},
    )


def _init(ray: Any, address: str, slots: int, folder: Path | None) -> None:  # noqa: ANN401
    how: dict[str, Any] = {"address": address}
    if folder is not None:
        how = {
            "address": "local",
            "num_cpus": slots,
            "include_dashboard": False,
            "object_store_memory": _OBJECTS_BYTES,
            "_node_ip_address": "127.0.0.1",
            "_temp_dir": str(folder),
        }
    with _handlers_kept():
        try:
            ray.init(log_to_driver=False, configure_logging=False, **how)
        except Exception as error:  # errors of Ray have many bases
            first = str(error).strip().partition("\n")[0]
            raise _unreachable(address, first) from error
    if folder is not None and not _is_on_loopback(ray.util.get_node_ip_address()):
        ray.shutdown()
        raise IoError(
            "Ray would listen beyond loopback, so nothing was read",
            hint="RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 has to be set before Ray is imported",
        )


def _is_on_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


@contextmanager
def _handlers_kept() -> Generator[None]:
    """Keep what this program does at a signal; Ray sets a handler of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def environment_of(address: str) -> Generator[None]:
    """Let Ray, and what it starts, read what a cluster at *address* is told."""
    values = {**_QUIET, **({} if address else {**_OWN, **_own_token()})}
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _temporary() -> Generator[Path]:
    top = tempfile.gettempdir()
    top = top if len(os.fsencode(top)) <= _LONGEST_TMP else "/tmp"  # noqa: S108 - mkdtemp's folder
    folder = Path(tempfile.mkdtemp(prefix="kebab-ray-", dir=top))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _unheard(ray: Any) -> Generator[None]:  # noqa: ANN401 - the module
    """Keep what nodes report off standard output, where Ray prints it without a switch."""
    worker = ray._private.worker  # noqa: SLF001 - there is no other way
    before = getattr(worker, _PRINTS, None)
    setattr(worker, _PRINTS, _note)
    try:
        yield
    finally:
        setattr(worker, _PRINTS, before)


def _note(data: Mapping[str, Any], **_: object) -> None:
    first = str(next(iter(data.get("lines", ())), "")).partition("\n")[0]
    logging.getLogger(__name__).info("Ray: %s", first)


@contextmanager
def _nothing() -> Generator[None]:
    yield None


@cache
def _own_token() -> Mapping[str, str]:
    """Return what makes the cluster of this run answer to nobody else; Ray reads it once."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def _silence() -> None:
    logger = logging.getLogger("ray")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())

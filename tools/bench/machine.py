"""Where a benchmark ran, and where it may write.

Figures without their machine say nothing, so every benchmark prints this first. Nothing
that identifies a person or a place is part of it: no host name, no path.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["ROOT", "describe_machine", "machine_line", "use_private_cache"]

ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("kb-app", "tantivy", "numpy", "simsimd", "duckdb", "onnxruntime", "tokenizers")


def describe_machine() -> dict[str, str]:
    """Return cores, load, memory, processor, Python and the versions that matter."""
    described = {
        "cores": str(len(os.sched_getaffinity(0))),
        "load": f"{os.getloadavg()[0]:.1f}",
        "memory": f"{_memory_bytes() / 1e9:.0f} GB",
        "processor": _processor(),
        "python": platform.python_version(),
    }
    return described | {name: _version(name) for name in _LIBRARIES}


def machine_line(described: dict[str, str]) -> str:
    """Return the description in one line."""
    return "machine: " + ", ".join(f"{name} {value}" for name, value in described.items())


def use_private_cache() -> None:
    """Keep prepared models under the repository's ``.cache``, in this process and its children.

    A benchmark leaves nothing in the home of whoever runs it.
    """
    os.environ["XDG_CACHE_HOME"] = str(ROOT / ".cache" / "bench")
    # Some environments forbid compiled modules; every start of a child would pay for that.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"

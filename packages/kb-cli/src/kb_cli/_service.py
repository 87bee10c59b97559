"""``kebab watch`` as a service of the person: a user unit of systemd, or an agent of launchd.

The file is written, and what starts and ends the service is told: nothing is started here.

**Invariant:** a file of that name which we have not written is neither changed nor removed.
"""

from __future__ import annotations

import os
import plistlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from kb_core.errors import InvalidInput, IoError
from kb_core.ids import text_hash
from kb_core.values import dataclass

__all__ = ["Service", "install", "service_of", "uninstall"]

_OURS = "made by kebab watch"
_MODE = 0o644
_SAFE = frozenset("@%+=:,./-_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service: its file, and what starts and ends it."""

    manager: str
    """``systemd`` or ``launchd``."""
    path: Path
    text: str
    start: tuple[str, ...]
    end: tuple[str, ...]


def service_of(
    command: Sequence[str],
    known: Mapping[str, str],
    environ: Mapping[str, str],
    config: Path | None,
    platform: str,
) -> Service:
    """Return the service that runs *command* with the variables *known*.

    One for another configuration than the usual one, *config*, has a name of its own.
    """
    home = Path(environ.get("HOME") or Path.home())
    suffix = f"-{text_hash(str(config))[:8]}" if config else ""
    if platform == "darwin":
        label = f"org.kebab.watch{suffix}"
        path = home / "Library" / "LaunchAgents" / f"{label}.plist"
        start = (f"launchctl bootstrap gui/$(id -u) '{path}'",)
        end = (f"launchctl bootout gui/$(id -u)/{label}",)
        text = _agent(label, command, known)
        return Service(manager="launchd", path=path, text=text, start=start, end=end)
    if platform != "linux":
        raise InvalidInput(
            f"there is no service to install on {platform!r}",
            hint="start 'kebab watch' as other programs are started at login",
            details={"field": "--install", "value": platform},
        )
    name = f"kebab-watch{suffix}.service"
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return Service(
        manager="systemd",
        path=folder / "systemd" / "user" / name,
        text=_unit(command, known),
        start=("systemctl --user daemon-reload", f"systemctl --user enable --now {name}"),
        end=(f"systemctl --user disable --now {name}", "systemctl --user daemon-reload"),
    )


def _unit(command: Sequence[str], known: Mapping[str, str]) -> str:
    variables = [f"Environment={_quoted(f'{name}={value}')}" for name, value in known.items()]
    lines = [
        f"# {_OURS} --install; --uninstall removes it",
        "[Unit]",
        "Description=kebab: follows the sources and indexes what changes",
        "",
        "[Service]",
        # A dollar sign is a variable in the command alone.
        f"ExecStart={' '.join(_quoted(word).replace('$', '$$') for word in command)}",
        *variables,
        "Restart=on-failure",
        "RestartSec=30",
        "Nice=10",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def _quoted(word: str) -> str:
    """Return *word* as systemd reads it back, specifiers taken literally."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = escaped.replace("\n", "\\n")
    is_plain = all(c.isascii() and (c.isalnum() or c in _SAFE) for c in word)
    return escaped if is_plain else f'"{escaped}"'


def _agent(label: str, command: Sequence[str], known: Mapping[str, str]) -> str:
    wanted = {
        "Label": label,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(known),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
    }
    head, _, rest = plistlib.dumps(wanted).decode("utf-8").partition("\n")
    return f"{head}\n<!-- {_OURS}; its option uninstall removes it -->\n{rest}"


def install(service: Service) -> str:
    """Write the file; return ``create``, ``update`` or ``unchanged``."""
    before = _ours(service)
    if before == service.text:
        return "unchanged"
    try:
        service.path.parent.mkdir(parents=True, exist_ok=True)
        new = service.path.with_name(f".{service.path.name}.{os.getpid()}")
        new.write_text(service.text, "utf-8")
        new.chmod(_MODE)
        new.replace(service.path)
    except OSError as error:
        raise IoError(f"could not write {str(service.path)!r}: {error.strerror}") from error
    return "create" if before is None else "update"


def uninstall(service: Service) -> str:
    """Remove the file; return ``remove``, or ``unchanged`` where there is none."""
    if _ours(service) is None:
        return "unchanged"
    try:
        service.path.unlink()
    except OSError as error:
        raise IoError(f"could not remove {str(service.path)!r}: {error.strerror}") from error
    return "remove"


def _ours(service: Service) -> str | None:
    """Return what the file holds; ``None`` where there is none. Somebody else's is refused."""
    try:
        text = service.path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        text = ""
    if _OURS not in text:
        raise InvalidInput(
            f"{str(service.path)!r} is not a file that kebab made; it is left as it is",
            hint="move it away first",
            details={"field": "--install", "value": str(service.path)},
        )
    return text

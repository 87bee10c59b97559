"""What is said to a language model, and what comes back, whichever model it is."""

from __future__ import annotations

from typing import Literal

from kb_core.values import dataclass

__all__ = ["Delta", "End", "Message", "ModelName", "Usage"]


@dataclass(frozen=True, slots=True)
class ModelName:
    """Which model writes, and where."""

    id: str
    """As its provider calls it."""
    provider: str
    """``ollama``, ``openai`` or ``gguf``."""
    remote: str | None = None
    """Scheme, host and port that everything it is told is sent to; ``None``: this machine."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of what a model is told."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model counted them; ``None`` where it does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """That a model has said all it had to, and why it said no more."""

    reason: Literal["stop", "length", "filtered"]
    """It was done, it reached the limit of tokens, or its provider kept the rest back."""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of what a model writes."""

    text: str = ""
    end: End | None = None
    """On the last piece of a whole answer, and on no other."""

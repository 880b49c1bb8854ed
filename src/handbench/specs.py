"""Short names for data, models and estimators: ``kind:name?key=value&key=value``.

The same text names a thing in Python, on the command line and in a TOML file.  A ``?``, ``&``, ``=`` or
``%`` inside a path is written as a percent escape (``%3F``, ``%26``, ``%3D``, ``%25``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from handbench.errors import HandbenchError


@dataclass(frozen=True)
class Spec:
    """One parsed name.

    Attributes:
        kind: what stands before the first colon, e.g. ``ge``, ``synth``, ``pose``, ``chance``.
        name: what stands between the colon and the question mark; empty where there is none.
        options: the ``key=value`` pairs, values as text.
    """

    kind: str
    name: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Read ``kind:name?key=value&key=value``.

        Raises:
            HandbenchError: when the text is empty, a pair has no ``=`` or a key comes twice.
        """
        head, _, query = text.strip().partition("?")
        kind, _, name = head.partition(":")
        if not kind:
            raise HandbenchError(f"{text!r} names nothing: expected kind:name?key=value, e.g. synth:hands?n=200")
        options: dict[str, str] = {}
        for pair in filter(None, query.split("&")):
            key, equals, value = pair.partition("=")
            if not equals or not key:
                raise HandbenchError(f"{text!r}: expected key=value after '?', found {pair!r}")
            if key in options:
                raise HandbenchError(f"{text!r}: {key!r} is given twice")
            options[key] = unquote(value)
        return cls(kind, unquote(name), options)

    def __str__(self) -> str:
        """The canonical text: options sorted, so that equal things have equal names."""
        text = self.kind + (f":{quote(self.name, safe='/:~ ')}" if self.name else "")
        pairs = [f"{key}={quote(value, safe='/:~ ,')}" for key, value in sorted(self.options.items())]
        return text + ("?" + "&".join(pairs) if pairs else "")


def with_options(text: str, **options: str | None) -> str:
    """A spec's text with more options; those that are None are left out.

    Raises:
        HandbenchError: the spec has one of them already, with another value.
    """
    spec = Spec.parse(text)
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        if spec.options.get(key, value) != value:
            raise HandbenchError(f"{spec}: {key} is {spec.options[key]!r} there and {value!r} beside it")
    return str(Spec(spec.kind, spec.name, {**spec.options, **given}))


class Options:
    """Typed reading of a spec's options; :meth:`done` refuses what nobody asked for."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._left = dict(spec.options)

    def text(self, key: str, default: str) -> str:
        """The option as text."""
        return self._left.pop(key, default)

    def integer(self, key: str, default: int, *, least: int | None = None) -> int:
        """The option as a whole number, at least ``least`` where that is given."""
        raw = self._left.pop(key, None)
        if raw is None:
            return default
        try:
            value = int(raw)
        except ValueError:
            raise HandbenchError(f"{self.spec}: {key} must be a whole number, not {raw!r}") from None
        if least is not None and value < least:
            raise HandbenchError(f"{self.spec}: {key} must be at least {least}, not {value}")
        return value

    def number(self, key: str, default: float) -> float:
        """The option as a finite number."""
        raw = self._left.pop(key, None)
        if raw is None:
            return default
        try:
            value = float(raw)
        except ValueError:
            value = float("nan")
        if not abs(value) < float("inf"):
            raise HandbenchError(f"{self.spec}: {key} must be a number, not {raw!r}")
        return value

    def choice(self, key: str, default: str, allowed: tuple[str, ...]) -> str:
        """The option as one of the words allowed."""
        value = self._left.pop(key, default)
        if value not in allowed:
            raise HandbenchError(f"{self.spec}: {key} must be one of {', '.join(allowed)}, not {value!r}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """The option as yes or no."""
        return self.choice(key, "yes" if default else "no", ("yes", "no", "true", "false", "1", "0")) in (
            "yes",
            "true",
            "1",
        )

    def done(self) -> None:
        """Refuse options that were not asked for, naming them.

        Raises:
            HandbenchError: when any option is left.
        """
        if self._left:
            unknown = ", ".join(sorted(self._left))
            raise HandbenchError(f"{self.spec}: unknown option {unknown}")

"""Where templates come from: everything that is filled in is escaped."""

from __future__ import annotations

import re

import jinja2


def template(name: str) -> jinja2.Template:
    """A template of this package; a name that it does not get is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("handbench.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda value: f"{value:,}".replace(",", "\u202f")
    environment.filters["anchor"] = lambda name: re.sub(r"[^a-z0-9]+", "-", str(name).lower()).strip("-")
    return environment.get_template(name)

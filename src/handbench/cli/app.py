"""The application that the commands join."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="handbench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Does this model understand hands, and what would fix it?\n\n"
        "Start with [bold]handbench demo[/bold]. On your own data: "
        "[bold]handbench run handvqa --data ge:PATH -m chance -m pose:blaze-full -o runs/first[/bold]. "
        "Things are named kind:name?key=value; [bold]handbench list[/bold] shows what there is."
    ),
)

exports = typer.Typer(no_args_is_help=True, help="What is here → files for other programs.")
imports = typer.Typer(no_args_is_help=True, help="Files of other programs → a run.")
app.add_typer(exports, name="export")
app.add_typer(imports, name="import")

"""The questions of ``plan`` without options on a terminal.

Answers are kept as the words of a command. After each answer the planner tries to make a plan of the words so far, so
every rule is the command's or the planner's. At the end the command is shown and run. Questions go to standard error,
so that standard output holds the result alone.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_INTRODUCTION = """\
This asks five questions, then writes a plan.
Enter takes the answer in brackets. Ctrl-C stops, and nothing is written.
"""
_ABOUT_GUARANTEES = """
A guarantee bounds what a report can disclose about a person: a probability of at most
the prior before the report stays below the posterior after it.
A stricter guarantee costs accuracy: it detects pairs only from a larger support.
"""
_GUARANTEES = {"1": ("strict", "5%", "10%"), "2": ("default", "5%", "50%"), "3": ("lenient", "1%", "50%")}
_DEFAULT, _ANOTHER = "2", "4"
# each question, and the hint after an answer that cannot be used
_PRODUCTS = "How many products are there? A number, or a file with one name per line", "Type a number or a file's name."
_PEOPLE = "How many people will send a report?", "Type a number such as 50,000."
_SIZE = "How many different items are on a receipt, on average?", "Type a number such as 4.4."
_GUARANTEE = "Which guarantee?", f"Type {', '.join(_GUARANTEES)} or {_ANOTHER}."
_OTHER = "Which ε, or which two percentages?", "Type ε, as 2.5 or ln19, or two percentages, as 5% 20%."
_FILE = "Which file should the plan be written to?", "Type the name of a file."

_DIGITS = re.compile(r"[-+]?[0-9][0-9.,]*")
_COMMAS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")  # between thousands
_Words = list[str]


# ---- whether to ask, and what then


def is_wanted() -> bool:
    """Return whether the command has no option, and a person at a terminal can be asked."""
    names = ["json", "force", *(str(each.name) for each in click.get_current_context().command.params)]
    is_bare = not any(map(opt.given, names))
    return is_bare and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def run_answers() -> None:
    """Ask, show the command that the answers make, and run it."""
    words = _ask_all()
    context = click.get_current_context()
    shown = shlex.join([*words, *["--force"] * opt.given("force")])
    _print(f"\nThis command makes the same plan without questions:\n\n{context.command_path} {shown}\n")
    with _parsed(words) as asked:
        context.command.invoke(asked)


# ---- the questions


def _ask_all() -> _Words:
    _print(_INTRODUCTION)
    words = _ask(_PRODUCTS, "1,000", [], _read_products)
    words = _ask(_PEOPLE, "1,000,000", words, lambda text: ["--reports", _COMMAS.sub("", text)])
    assumed = f"{_choose(words).request.sizes.mean:.3g}"
    # the plan says what it assumes, so Enter leaves that to it
    words = _ask(_SIZE, assumed, words, lambda text: [] if text == assumed else ["--mean-size", text])
    words = _ask_guarantee(words)
    return _ask(_FILE, "plan.json", words, lambda text: _read_output(text, words))


def _ask_guarantee(words: _Words) -> _Words:
    _print(_ABOUT_GUARANTEES)
    with opt.Progress.while_busy("planning"):
        costs = {number: _cost([*words, *_read_choice(number)]) for number in _GUARANTEES}
    for number, (name, prior, posterior) in _GUARANTEES.items():
        _print(f"  {number}  {name:<8} prior {prior}, posterior below {posterior}   {costs[number]}")
    _print(f"  {_ANOTHER}  another  type ε (the default is ln19) or two percentages\n")
    chosen = _ask(_GUARANTEE, _DEFAULT, words, _read_choice)
    if chosen == words:
        chosen = _ask(_OTHER, "2.5", words, _read_guarantee)
        _print(f"It detects {_cost(chosen)}.")
    return chosen


def _ask(question: tuple[str, str], default: str, words: _Words, read: Callable[[str], _Words]) -> _Words:
    """Return the words with those of one more answer, asked again until the planner accepts it."""
    asked, hint = question
    while True:
        try:
            more = words + read(_read_line(f"{asked} [{default}]: ") or default)
            with opt.Progress.while_busy("planning"):
                _choose(more)
        except (click.UsageError, ap.AssocprivError) as error:
            reason = str(error).rstrip(".")
            opt.Refused(f"{reason}{'' if reason.endswith('?') else '.'} {hint}").show()
        else:
            return more


# ---- the planner


def _parsed(words: _Words) -> click.Context:
    """Return the command with these words; they are read as from a command line."""
    context = click.get_current_context()
    return context.command.make_context(context.info_name, list(words), parent=context.parent)


def _choose(words: _Words) -> Any:
    """Return the plan for the answers so far, under the default guarantee until one is given."""
    known = _parsed(words).params
    items, _ = ap.catalogues.NameSource(known["items"], known["catalogue"]).read("error")
    guarantee = opt.take_guarantee(known) or ap.Guarantee(*_GUARANTEES[_DEFAULT][1:])
    return ap.plan(items, guarantee, reports=known["reports"], mean_size=known["mean_size"], explain=True)


def _cost(words: _Words) -> str:
    return ap.show.plan_views.pair_threshold(_choose(words))


# ---- answers


def _read_products(text: str) -> _Words:
    if _DIGITS.fullmatch(text):
        return ["--items", _COMMAS.sub("", text)]
    return ["--catalogue", os.path.expanduser(text)]  # ~ is the shell's, which does not see it here


def _read_choice(text: str) -> _Words:
    """Read the number of a guarantee in the list; another one is asked for afterwards."""
    if text == _ANOTHER:
        return []
    if text not in _GUARANTEES:
        raise click.UsageError(f"{text!r} is not in the list")
    _, prior, posterior = _GUARANTEES[text]
    return ["--prior", prior, "--posterior", posterior]


def _read_guarantee(text: str) -> _Words:
    """Read ε, which may be two words, as ln 19; or a prior and a posterior."""
    words = text.split()
    if len(words) != 2 or words[0] == "ln":
        return ["--epsilon", text]
    return ["--prior", words[0], "--posterior", words[1]]


def _read_output(text: str, words: _Words) -> _Words:
    """Read the output file; an existing file is replaced only after a yes."""
    path = Path(os.path.expanduser(text))
    opt.check_output(path, True, [_parsed(words).params["catalogue"]])
    if os.path.lexists(path):
        if _read_line(f"{path} exists. Replace it? [no]: ").lower() not in ("y", "yes"):
            raise click.UsageError(f"{path} stays as it is")
        opt.set_global_flags(force=True)
    return ["-o", str(path)]


# ---- the terminal


def _read_line(prompt: str) -> str:
    """Return a line without the blanks around it; click's own prompt writes to standard output in some releases."""
    click.echo(prompt, nl=False, err=True)
    line = os.fsdecode(sys.stdin.buffer.readline())  # whatever bytes the terminal sends
    if not line:
        raise EOFError  # Ctrl-D: click ends as after Ctrl-C
    return line.strip()


def _print(text: str) -> None:
    click.echo(text, err=True)

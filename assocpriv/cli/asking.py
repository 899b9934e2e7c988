"""Questions to whoever types ``plan`` on a terminal without options: what a plan must know, one after the other.

The answers are kept as the command's own parameters. After each of them the planner is asked whether it can make a plan
of what is known so far, so that every rule is the planner's. At the end they become the words of a command, which is
shown and run. Questions go to standard error, so that standard output holds the result alone.
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

Answers = dict[str, Any]  # by the name of the command's parameter, and force

_INTRODUCTION = """\
This asks five questions, then writes a plan.
Enter takes the answer in brackets. Ctrl-C stops, and nothing is written.
"""
_ABOUT_PROMISES = """
A promise limits how sure anybody can become of something about a person.
Each has a cost: pairs in a smaller share of baskets may be lost in noise.
"""
_PROMISES: dict[str, tuple[str, Answers]] = {
    "1": ("strict", {"prior": "5%", "posterior": "10%"}),
    "2": ("usual", {"prior": "5%", "posterior": "50%"}),
    "3": ("lenient", {"prior": "1%", "posterior": "50%"}),
}
_USUAL, _ANOTHER = "2", "4"
# each question, and what is said after an answer that does not do
_PRODUCTS = "How many products are there? A number, or a file with one name per line", "Type a number or a file's name."
_PEOPLE = "How many people will answer?", "Type a number such as 50,000."
_SIZE = "How many items are in a basket on average (items sold over receipts)?", "Type a number such as 4.4."
_PROMISE = "Which promise do you make?", f"Type {', '.join(_PROMISES)} or {_ANOTHER}."
_OTHER = "Which ε, or which two percentages?", "Type ε, as 2.5 or ln19, or two percentages, as 5% 20%."
_FILE = "Which file is the plan written to?", "Type the name of a file."

_DIGITS = re.compile(r"[-+]?[0-9][0-9.,]*")
_COMMAS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")  # between thousands


# ---- whether to ask, and what then


def is_wanted() -> bool:
    """Return whether the command has no option, and a person at a terminal can be asked."""
    names = ["json", "force", *(str(each.name) for each in click.get_current_context().command.params)]
    is_bare = not any(map(opt.given, names))
    return is_bare and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def run_answers() -> None:
    """Ask, show the command that the answers stand for, and run it."""
    context = click.get_current_context()
    flags = {each.name: max(each.opts, key=len) for each in context.command.params}
    answers = _ask_all()
    if answers.pop("force", False):
        opt.given_to_all(force=True)
    words = [word for name, answer in answers.items() for word in (flags[name], str(answer))]
    shown = shlex.join([*words, *["--force"] * opt.given("force")])
    _tell(f"\nThis command makes the same plan without questions:\n\n{context.command_path} {shown}\n")
    with context.command.make_context(context.info_name, words, parent=context.parent) as asked:
        context.command.invoke(asked)


# ---- the questions


def _ask_all() -> Answers:
    _tell(_INTRODUCTION)
    answers = _ask(_PRODUCTS, "1,000", {}, _read_products)
    answers = _ask(_PEOPLE, "1,000,000", answers, lambda text: {"reports": _read_count(text)})
    assumed = f"{_choose(answers).request.sizes.mean:.3g}"
    # the plan says what it assumes, so Enter leaves that to it
    answers = _ask(_SIZE, assumed, answers, lambda text: {} if text == assumed else {"mean_size": _read_number(text)})
    answers = _ask_promise(answers)
    return _ask(_FILE, "plan.json", answers, lambda text: _read_output(text, answers))


def _ask_promise(answers: Answers) -> Answers:
    _tell(_ABOUT_PROMISES)
    with opt.Progress.while_busy("planning"):
        costs = {number: _cost(answers | promise) for number, (_, promise) in _PROMISES.items()}
    for number, (name, promise) in _PROMISES.items():
        said = "whoever was {prior} sure stays below {posterior}".format(**promise)
        _tell(f"  {number}  {name:<8} {said}   {costs[number]}")
    _tell(f"  {_ANOTHER}  another  type ε (the usual one is ln19) or two percentages\n")
    chosen = _ask(_PROMISE, _USUAL, answers, _read_choice)
    if chosen == answers:
        chosen = _ask(_OTHER, "2.5", answers, _read_promise)
        _tell(f"Its cost: {_cost(chosen)}.")
    return chosen


def _ask(question: tuple[str, str], default: str, answers: Answers, read: Callable[[str], Answers]) -> Answers:
    """Return the answers with one more, asked for until it can be read and planned with."""
    asked, hint = question
    while True:
        try:
            more = answers | read(_read_line(f"{asked} [{default}]: ") or default)
            with opt.Progress.while_busy("planning"):
                _choose(more)
        except (click.UsageError, ap.AssocprivError) as error:
            reason = str(error).rstrip(".")
            opt.Refused(f"{reason}{'' if reason.endswith('?') else '.'} {hint}").show()
        else:
            return more


# ---- what the planner says


def _choose(answers: Answers) -> Any:
    """Return what the planner chooses by the answers so far; under the usual promise until there is one."""
    items, _ = ap.NameSource(answers.get("items"), answers.get("catalogue")).read("error")
    promise = opt.take_promise(dict.fromkeys(("prior", "posterior", "epsilon")) | answers)
    wishes = {name: answers[name] for name in ("reports", "mean_size") if name in answers}
    return ap.choose_plan(items, promise or ap.Breach(**_PROMISES[_USUAL][1]), **wishes)


def _cost(answers: Answers) -> str:
    return ap.show.plans.least_pairs(_choose(answers))


# ---- answers


def _read_products(text: str) -> Answers:
    if _DIGITS.fullmatch(text):
        return {"items": _read_count(text)}
    return {"catalogue": Path(os.path.expanduser(text))}  # ~ is the shell's, which does not see it here


def _read_count(text: str) -> int:
    return int(opt.WHOLE.convert(_COMMAS.sub("", text), None, None))


def _read_number(text: str) -> float:
    return float(opt.NUMBER.convert(text, None, None))


def _read_choice(text: str) -> Answers:
    """Read which promise of the list is meant; another one is asked for afterwards."""
    if text not in (*_PROMISES, _ANOTHER):
        raise click.UsageError(f"{text!r} is not in the list")
    return {} if text == _ANOTHER else _PROMISES[text][1]


def _read_promise(text: str) -> Answers:
    """Read ε, which may be two words, as ln 19; or two beliefs."""
    words = text.split()
    if len(words) != 2 or words[0] == "ln":
        return {"epsilon": text}
    return {"prior": words[0], "posterior": words[1]}


def _read_output(text: str, answers: Answers) -> Answers:
    """Read where the plan goes; an existing file is replaced only after a yes."""
    path = opt.OUTPUT.convert(os.path.expanduser(text), None, None)
    opt.check_writable(path, force=True, inputs=[answers["catalogue"]] if "catalogue" in answers else [])
    if not os.path.lexists(path):
        return {"output": path}
    if _read_line(f"{path} exists. Replace it? [no]: ").lower() not in ("y", "yes"):
        raise click.UsageError(f"{path} stays as it is")
    return {"output": path, "force": True}


# ---- the terminal


def _read_line(prompt: str) -> str:
    """Return a line without the blanks around it; click's own prompt writes to standard output in some releases."""
    click.echo(prompt, nl=False, err=True)
    line = os.fsdecode(sys.stdin.buffer.readline())  # whatever bytes the terminal sends
    if not line:
        raise EOFError  # Ctrl-D: click ends as after Ctrl-C
    return line.strip()


def _tell(text: str) -> None:
    click.echo(text, err=True)

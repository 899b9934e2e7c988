"""The commands before a collection: catalogue (names of items), plan, and refine (a plan for a second sample).

Without options on a terminal ``plan`` asks questions. Answers are kept as the words of a command. After each answer the
planner tries to make a plan of the words so far, so every rule is the command's or the planner's. At the end the
command is shown and run. Questions go to standard error, so that standard output holds the result alone.
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

_NAMES = ("items", "catalogue", "taxonomy", "leave_out")
_FOUND = ("reports", "itemset_size")  # which --detect finds, unless they are given
_TAKES = {  # options of one plan type
    "baskets": (
        *_NAMES, "unlisted", "mean_size", "sample", "itemset_size", "transaction_size", "detect", "paper", *opt.READING,
        "central", "local_cap", "rounds",
    ),
    "table": ("schema", "columns_per_report", "sample", "layout"),
}  # fmt: skip


def _to_columns(_context: click.Context, _option: click.Parameter, text: str | None) -> "int | str | None":
    """Read a number of columns, or the word all."""
    if text is None or text == "all":
        return text
    if not (text.isascii() and text.isdigit()):
        raise click.BadParameter("give a number of columns, or all")
    return int(text)


_rare_options = opt.advanced_options(
    click.option("--taxonomy", type=opt.PATH, help="CSV file of names with their parents, one name a line."),
    click.option("--sample", type=opt.PATH, help="Sample of baskets, for their sizes; of a table, for whole numbers."),
    click.option("--itemset-size", type=opt.WHOLE, help="Maximum itemset size.  [default: 3]"),
    click.option("--transaction-size", type=opt.WHOLE, help="Items a basket is cut or padded to.  [default: chosen]"),
    click.option("--detect", metavar="SUPPORT", help="Find the reports or the ε that detect this support, as 1%."),
    click.option("--local-cap", metavar="E", help="Maximum ε if relay and collector collude.  [default: 8]"),
    click.option(
        "--leave-out", type=opt.PATH, help="File of names that clients drop, with their children, one a line."
    ),
    opt.choice("--unlisted", ["error", "drop"], "Names that are no item and have no parent that is."),
    click.option("--paper", is_flag=True, help="Choose as the 2003 paper does, for this --transaction-size."),
    opt.reading_options,
    click.option(
        "--columns-per-report", metavar="K|all", callback=_to_columns, help="Protected columns in a report of a table."
    ),
)


@opt.command()
@click.argument("baskets", type=opt.PATH, nargs=-1)
@click.option("-o", "--output", type=opt.OUTPUT, help="File of names to write, one a line.  [default: standard output]")
@opt.usual("--min-count", default=1, help="Minimum number of baskets with the name.", type=opt.WholeRange(1))
@click.option("--best", type=opt.WholeRange(1), help="Keep this number of names: the best sellers.")
@click.option("--sales", type=opt.PATH, help="CSV file of sales instead of BASKETS: name, number sold.")
@click.option("--check", type=opt.PATH, help="Check this catalogue instead, against BASKETS if given.")
@opt.reading_options
def catalogue(
    baskets: tuple[Path, ...], output: Path | None, min_count: int, best: int | None, sales: Path | None,
    check: Path | None, force: bool, **reading: Any,
) -> None:  # fmt: skip
    """Write a catalogue: the names of all items of a collection.

    Input: BASKETS (files that you may look at), or a list of sales. Output: a file of names, one a line. A catalogue is
    published with its plan, so read it before you publish it.

    \b
    Example:
      assocpriv catalogue baskets.csv --min-count 10 -o names.txt
      assocpriv catalogue --sales sales.csv --best 100 -o best.txt
      assocpriv catalogue --check names.txt

    Next: assocpriv plan --catalogue names.txt
    """
    if check is not None:
        opt.refuse_given(
            ("output", "min_count", "best", "sales"), "cannot be combined with --check, which writes no catalogue"
        )
        checked = ap.catalogues.check_catalogue(ap.read_catalogue(check))
        use = None
        if baskets:
            use = ap.catalogues.try_catalogue(
                checked.catalogue, baskets, progress=opt.text.Progress().stage("reading"), **reading
            )
        opt.show(ap.show.collection_views.check(checked, use))
        return
    if bool(baskets) == (sales is not None):
        raise click.UsageError("give files of baskets, a list of --sales, or --check a catalogue")
    opt.check_output(output, force, [*baskets, sales])
    if sales is not None:
        opt.refuse_given(opt.READING, "is for BASKETS; a list of sales is CSV")
        draft = ap.catalogues.draft_catalogue(min_count=min_count, best=best, sales=sales)
    else:
        draft = ap.catalogues.draft_catalogue(
            baskets, min_count, progress=opt.text.Progress().stage("reading"), best=best, **reading
        )
    if output is not None:
        ap.write_catalogue(draft.catalogue, output, force=force)
    opt.show(ap.show.collection_views.draft(draft, output))


@opt.command()
@click.option("--schema", type=opt.PATH, help="TOML file of columns, for a table.")
@click.option("--items", type=opt.WHOLE, help="Number of items, named 0 to N−1.")
@click.option("--catalogue", type=opt.PATH, help="File of item names, one a line.")
@opt.guarantee_options
@opt.usual("--people", "reports", default=1_000_000, help="Expected number of people.")
@opt.usual("--reports-per-person", default=1, help="Reports per person, guaranteed together.")
@click.option("--rounds", type=opt.WholeRange(1, 2), help="Rounds; by default the better.")
@click.option("--mean-size", type=opt.NUMBER, help="Mean items in a basket.  [default: 6]")
@click.option(
    "--central", metavar="ε,δ", callback=opt.pair("give ε and δ, as 1,1e-8"),
    help="Central (ε, δ) guarantee instead, for reports through a relay.",
)  # fmt: skip
@click.option("-o", "--output", type=opt.OUTPUT, help="Plan file to write (JSON).")
@_rare_options
def plan(output: Path | None, force: bool, **options: Any) -> None:
    """Write a plan: the most accurate randomization that keeps a guarantee.

    Input: items and a guarantee. A statement with a prior of PRIOR or less stays below POSTERIOR after all reports of a
    person. Prior → posterior: 5% → 10% is strict, 5% → 50% (ε = ln 19) the default, 1% → 50% lenient. `assocpriv
    privacy --explain` shows what each costs.

    Output: the plan file, of the first of two rounds where two find more, and what people can detect. --detect 1%
    computes the number of people, or with --people ε, to detect pairs of 1%. On a terminal, without options, it asks.

    \b
    Example:
      assocpriv plan --items 1000 --prior 5% --posterior 50% -o plan.json
      assocpriv plan --catalogue names.txt --epsilon 2.5 --people 50000 -o plan.json
      assocpriv plan --items 1000 --central 1,1e-8 --people 100000 -o plan.json
      assocpriv plan --schema schema.toml -o plan.json

    Next: assocpriv randomize, or assocpriv serve plan.json
    """
    if is_dialog_wanted():
        run_dialog()
        return
    if options["detect"] is None:
        opt.require(("output",))
    kind, make = ("baskets", _plan_baskets) if options["schema"] is None else ("table", _plan_table)
    own = opt.of_kind(options, kind, _TAKES)
    if own["sample"] is None:
        opt.refuse_given(opt.READING, "goes with --sample, and says how it is read")
    make(output, force, **own)


def _plan_baskets(
    output: Path | None, force: bool, detect: str | None, sample: Path | None, unlisted: str, **known: Any
) -> None:
    names = ap.catalogues.NameSource(**{name: known.pop(name) for name in _NAMES})
    reading = {name: known.pop(name) for name in opt.READING}
    if (names.items is None) == (names.catalogue is None):
        raise click.UsageError(
            "give one of --items and --catalogue (of the categories, with --taxonomy), or --schema for a table"
        )
    opt.check_output(output, force, [*names.paths, sample])
    if known["central"] is not None:
        _check_central()
    stated = {name: known.pop(name) for name in ("prior", "posterior", "epsilon")}
    # of the two, the one that is not given is solved for
    is_open = detect and opt.given("reports") and stated["posterior"] is None and stated["epsilon"] is None
    guarantee = None if is_open else opt.take_guarantee(dict(stated))
    if guarantee is None and not is_open and known["central"] is None:
        raise click.UsageError("Missing guarantee: give --prior and --posterior, or --epsilon.")
    items, rules = names.read(unlisted)
    known |= {"names": rules, "reports": known["reports"] * known["reports_per_person"]}
    if sample is not None:
        known["sample"] = _sizes_of(sample, items, rules, reading)
    if detect is not None:
        known |= {"prior": stated["prior"]} if is_open else {}
        found = _find(items, guarantee, detect, known)
        choice = found.choice
    else:
        found = None
        with opt.text.Progress.while_busy("planning"):
            choice = ap.plan(items, guarantee, explain=True, **known)
    if output is not None:
        ap.write_plan(choice.plan, output, force=force)
    opt.show(ap.show.plan_views.choice(choice, found, verbose=opt.verbosity() > 0))


def _check_central() -> None:
    opt.refuse_given(("prior", "posterior", "epsilon", "detect", "paper"), "cannot be combined with --central")
    if not opt.given("reports"):
        raise click.UsageError(
            "--central is proved for a number of reports, and smaller batches are never read: give --people"
        )


def _find(items: Any, guarantee: Any, support: str, known: dict[str, Any]) -> Any:
    """Find the number of reports, or the guarantee, that detects a support."""
    opt.refuse_given(("local_cap",), "goes with --central")
    opt.refuse_given(("rounds",), "cannot be combined with --detect, which is for one round")
    left = {"central", "local_cap", "rounds", *(name for name in _FOUND if not opt.given(name))}
    known = {name: value for name, value in known.items() if name not in left}
    return ap.plan(items, guarantee, detect=support, progress=opt.text.Progress().stage("planning"), **known)


def _plan_table(
    output: Path | None, force: bool, schema: Path, reports: int, sample: Path | None, **known: Any
) -> None:
    """Plan how each column of a table is randomized."""
    assert output is not None
    opt.check_output(output, force, [schema, sample])
    reading = opt.table_reading(known)
    whole = () if sample is None else ap.numeric.find_whole_columns(schema, sample, **reading)
    made = ap.numeric.plan_table(schema, opt.take_guarantee(known), reports=reports, whole=whole, **known)
    ap.write_plan(made, output, force=force)
    opt.show(ap.show.plan_views.described(made, reports))


def _sizes_of(path: Path, items: Any, rules: Any, reading: dict[str, Any]) -> Any:
    """Return the sizes of the sample's baskets; print their number, and the items outside the catalogue."""
    counts = ap.catalogues.sample_sizes(path, items, rules, progress=opt.text.Progress().stage("reading"), **reading)
    dropped = counts.read.unknown_dropped
    left = f"; items outside the catalogue, not counted: {dropped:,}" if dropped else ""
    opt.say([f"sample of {counts.sizes.total():,} baskets{left}"])
    return counts.sizes


@opt.command()
@click.argument("reports", type=opt.PATH, nargs=-1, required=True)
@click.option("--people", type=opt.WHOLE, help="Expected people of the second round.  [default: as many as in REPORTS]")
@opt.usual("--best", default=32, help="Number of items of the second round.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Plan file to write (JSON).")
def refine(reports: tuple[Path, ...], people: int | None, best: int, output: Path, force: bool) -> None:
    """Plan the second round of a collection: the likeliest items, other people.

    Input: REPORTS of the first round. Output: the plan of the second round, with its own catalogue, basket size and
    operator. It is for people who sent no report in the first round. Mine the reports of both rounds together.

    \b
    Example:
      assocpriv refine first.parquet --people 50000 -o plan2.json

    Next: assocpriv randomize, or assocpriv serve plan2.json; then assocpriv mine first.parquet second.parquet
    """
    opt.check_output(output, force, reports)
    collections = opt.open_collections(reports, None)
    found = ap.refine(collections, people=people, best=best, progress=opt.text.Progress())
    ap.write_plan(found.plan, output, force=force)
    opt.show(ap.show.plan_views.next_round(found))


# ---- the dialog

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


def is_dialog_wanted() -> bool:
    """Return whether the command has no option, and a person at a terminal can be asked."""
    names = ["json", "force", *(str(each.name) for each in click.get_current_context().command.params)]
    is_bare = not any(map(opt.given, names))
    return is_bare and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def run_dialog() -> None:
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
    words = _ask(_PEOPLE, "1,000,000", words, lambda text: ["--people", _COMMAS.sub("", text)])
    assumed = f"{_choose(words).request.sizes.mean:.3g}"
    # the plan says what it assumes, so Enter leaves that to it
    words = _ask(_SIZE, assumed, words, lambda text: [] if text == assumed else ["--mean-size", text])
    words = _ask_guarantee(words)
    return _ask(_FILE, "plan.json", words, lambda text: _read_output(text, words))


def _ask_guarantee(words: _Words) -> _Words:
    _print(_ABOUT_GUARANTEES)
    with opt.text.Progress.while_busy("planning"):
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
            with opt.text.Progress.while_busy("planning"):
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

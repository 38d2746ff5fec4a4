"""`rl-resources rules`."""

from __future__ import annotations

from argparse import ArgumentParser

from rl_resources.cli.command import Arguments, Command


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME")


def _rules(arguments: Arguments) -> int:
    from rl_resources.check import chosen_rules
    from rl_resources.rules import all_rules

    names = [arguments.name] if arguments.name else []
    for rule in chosen_rules(names, [], all_rules()):
        fixable = ", fixable" if rule.fixable else ""
        print(f"{rule.name} ({rule.severity}{fixable}): {rule.summary}")
        if names:
            print(f"  why:  {rule.reason}\n  bad:  {rule.bad}\n  good: {rule.good}")
    return 0


COMMAND = Command("rules", "List the rules, or explain one.", _options, _rules)

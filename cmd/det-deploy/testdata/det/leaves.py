"""Prints the commands that the det client has, one a line."""

import argparse

from determined import cli
from determined.cli import cli as client


def leaves(parser, path):
    """Yields each command without subcommands, by the first of its names."""
    subs = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not subs:
        yield path
    for sub in subs:
        seen = set()
        for name, below in sub.choices.items():
            if id(below) in seen:
                continue
            seen.add(id(below))
            names = [n for n, p in sub.choices.items() if p is below]
            yield from leaves(below, path + [names])


def print_leaves():
    parser = client.make_parser()
    cli.add_args(parser, client.all_args_description)
    for path in leaves(parser, []):
        print(" ".join("|".join(names) for names in path))


print_leaves()

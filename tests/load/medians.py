#!/usr/bin/env python3
"""Medians over rounds: medians.py FILE, with lines of a label, connections and name=figure, apart by tabs."""

import statistics
import sys


def shown(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 1000 else f"{figure:.2f}"


def main(file: str) -> None:
    rows: dict[tuple[str, str], dict[str, list[float]]] = {}
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            label, connections, *figures = line.rstrip("\n").split("\t")
            row = rows.setdefault((label, connections), {})
            for figure in figures:
                name, value = figure.rsplit("=", 1)
                row.setdefault(name, []).append(float(value))
    for (label, connections), row in rows.items():
        rounds = max(map(len, row.values()))
        medians = "  ".join(f"{name} {shown(statistics.median(seen))}" for name, seen in row.items())
        print(f"median of {rounds}: {label:<36} {connections:>4}  {medians}")


main(sys.argv[1])

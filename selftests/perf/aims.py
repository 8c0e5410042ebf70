# SPDX-License-Identifier: GPL-2.0
"""The aims of measurements, for reports."""


def judge(aims):
    """For each name, value, aim, and whether less is better: a dictionary for a JSON file."""
    return [{"name": name, "value": value, "aim": aim,
             "met": value <= aim if less else value >= aim}
            for name, value, aim, less in aims]


def show(judged):
    for row in judged:
        print(f"{row['name']}: {row['value']} (aim {row['aim']}, "
              f"{'met' if row['met'] else 'missed'})")

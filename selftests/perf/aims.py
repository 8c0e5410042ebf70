# SPDX-License-Identifier: GPL-2.0
"""The aims of measurements, for reports."""
import math
import statistics


def judge(aims):
    """For each name, value, aim, and whether less is better: a dictionary for a JSON file."""
    return [{"name": name, "value": value, "aim": aim,
             "met": value <= aim if less else value >= aim}
            for name, value, aim, less in aims]


def show(judged):
    for row in judged:
        print(f"{row['name']}: {row['value']} (aim {row['aim']}, "
              f"{'met' if row['met'] else 'missed'})")


def upper_end(ours, others):
    """Of the 95 % interval of the ratio of runs that took turns. Student's quantile from the
    normal one: Cornish and Fisher's expansion, first term."""
    logs = [math.log(a / b) for a, b in zip(ours, others)]
    if len(logs) < 2:
        return None
    z = statistics.NormalDist().inv_cdf(0.975)
    t = z + (z ** 3 + z) / (4 * (len(logs) - 1))
    return math.exp(statistics.mean(logs) + t * statistics.stdev(logs) / math.sqrt(len(logs)))

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Makes a report in Markdown, with charts, of what "make bench-chunk" measured.

usage: bench_report.py JSON-FILE DIRECTORY
"""
import json
import os
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "omerta"
matplotlib.rcParams["svg.fonttype"] = "none"
from matplotlib import pyplot  # noqa: E402

from chunk_report import engines, fastest, per_chunk  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def mb_s(case, workers=1):
    return case["bytes"] * workers * 1000 / case["median-ns"]


def unique(cases, key):
    return list(dict.fromkeys(c[key] for c in cases))


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def pick(cases, **wanted):
    wanted = {key.replace("_", "-"): value for key, value in wanted.items()}
    return [c for c in cases if all(c.get(k) == v for k, v in wanted.items())]


def size(number):
    for unit, name in (1 << 20, "Mi"), (1 << 10, "Ki"):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {name}"
    return str(number)


def chart(path, title, x_name, y_name, lines):
    """@lines: {name: {x: y}}, with a logarithmic axis to the right"""
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for name, line in lines.items():
        axes.plot(sorted(line), [line[x] for x in sorted(line)], marker=".", label=name)
    axes.set(title=title, xlabel=x_name, ylabel=y_name, xscale="log", ylim=(0, None))
    ticks = [x for x in sorted({x for line in lines.values() for x in line}) if x & (x - 1) == 0]
    axes.set_xticks(ticks, [size(x) for x in ticks])
    axes.minorticks_off()
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


class Report:
    def __init__(self, data, published, directory):
        self.data, self.found = data, data["results"]
        self.published, self.directory = published, directory
        self.lines = []

    def say(self, *lines):
        self.lines += lines

    def picture(self, name, *args):
        chart(os.path.join(self.directory, name + ".svg"), *args)
        self.say(f"![{args[0]}]({name}.svg)", "")

    def head(self):
        self.say("# omerta: ChaCha20-Poly1305 in chunks", "", f"{self.data['machine']}.", "",
                 "Inside the kernel, medians of cases measured in turns. MB are millions of "
                 "bytes.", "")
        if self.data["backend"] == "uml":
            self.say("User-mode Linux at native speed. Sections with vector registers cost "
                 "nothing there, and wake-ups and interrupts are too expensive, as they are "
                 "system calls and signals of the host. Hardware was not measured.", "")

    def chunks(self):
        cases = self.found["chunks"]
        sizes = sorted(set(unique(cases, "chunk-size")))
        for direction in "seal", "open":
            speed = {engine: {c["chunk-size"]: mb_s(c) for c in
                              pick(cases, engine=engine, direction=direction)}
                     for engine in unique(cases, "engine")}
            self.say(f"## One CPU, {direction}, by the chunk's size", "",
                     "MB/s, and the share of the speed in one piece.", "")
            self.say(*table(["engine"] + [size(s) for s in sizes], (
                [engine] + [f"{line[s]:.0f} ({100 * line[s] / line[sizes[-1]]:.0f} %)"
                            for s in sizes] for engine, line in speed.items())))
            self.picture(f"chunks-{direction}", f"{direction}, one CPU", "bytes of a chunk",
                         "MB/s", speed)

    def peers(self):
        sizes = sorted(set(unique(self.found["chunks"], "chunk-size")))
        # In lists of 16, of those that have lists
        lists = {c["engine"] for c in self.found["peers"] if c["list"] == 16}
        both = ([(f"kernel: {c['engine']}", c) for c in self.found["chunks"]] +
                [(c["engine"], c) for c in self.found["peers"] if c.get("chunk-size") in sizes and
                 c["list"] == (16 if c["engine"] in lists else 1)])
        sizes = [s for s in sizes if any(c["chunk-size"] == s for c in self.found["peers"]
                                         if "chunk-size" in c)]
        both = [(name, c) for name, c in both if c["chunk-size"] in sizes]
        self.say("## Others on this machine", "", "MB/s of one CPU. Rows without \"kernel\" were measured in user space, in "
                 "turns, soon after. The library of omerta's engines, for chunks that are too long "
                 "for them, is libsodium there. The engines' figures show how similar the "
                 "kernel and user space are. Ciphertexts are compared "
                 "with libsodium's first, except TweetNaCl's, which has another cipher.", "")
        for direction in "seal", "open":
            self.say(*table([direction] + [size(s) for s in sizes], (
                [name] + [f"{mb_s(c):.0f}" for n, c in both
                          if n == name and c["direction"] == direction]
                for name in dict.fromkeys(name for name, _ in both))))

    def curves(self):
        """Ours in user space against the best of others there, by length and list."""
        cases = self.found["peers"]
        ours = [e for e in engines(cases) if e.startswith("omerta")]
        others = [e for e in engines(cases) if not e.startswith("omerta")
                  and not any("other-cipher" in c for c in pick(cases, engine=e))]
        lengths = sorted({c["chunk-size"] for c in cases if "chunk-size" in c})
        mixes = sorted({c["mix"] for c in cases if "mix" in c})
        lists = sorted({c["list"] for c in cases if "chunk-size" in c})
        kernel = self.found["curves"]
        if not ours:
            return
        self.say("## Curves", "", "Speed by the chunk's length, in lists of so many. \"kernel\" "
                 "is inside the kernel, the others in user space.", "")
        for n in 1, 3, 16:
            for direction in "seal", "open":
                def speeds(found, engine):
                    times = {length: per_chunk(found, engine, direction, length, n)
                             for length in lengths}
                    return {k: k * 1000 / v for k, v in times.items() if v}

                names = [ours[0]] + [e for e in others if "direct" not in e or n == 1]
                lines = {name: speeds(cases, name) for name in names}
                for engine in ["lib"] + engines(kernel)[1:2]:
                    lines[f"kernel: {engine}"] = speeds(kernel, engine)
                self.picture(f"curve-{n}-{direction}", f"{direction}, lists of {n}",
                             "bytes of a chunk", "MB/s", {k: v for k, v in lines.items() if v})
        for engine in ours:
            self.say(f"{engine}: its speed over that of the fastest other library in user "
                     "space, the lower one of sealing and opening:", "")
            rows = []
            for length in lengths + mixes:
                row = [length]
                for n in lists if length in lengths else [None]:
                    ratios = []
                    for direction in "seal", "open":
                        count = n or next(c["list"] for c in pick(cases, mix=length)
                                          if c["engine"] == engine)
                        best = min(fastest(cases, e, direction, length, count) for e in others)
                        ratios.append(best / per_chunk(cases, engine, direction, length, count))
                    row.append(f"{min(ratios):.2f}")
                rows.append(row + ["-"] * (len(lists) + 1 - len(row)))
            self.say(*table(["bytes"] + [f"lists of {n}" for n in lists], rows))
        self.say("imix: packets of 40, 576 and 1500 bytes; record, records: one and 16 packets of "
                 "1388 bytes in chunks of 512; tcp: five, the last one short.", "")

    def counted(self):
        """Of an emulated CPU, where each instruction takes a nanosecond"""
        cases = self.found.get("curves:arm64")
        if not cases:
            return
        lengths = sorted(set(unique(cases, "chunk-size")))
        lists = sorted(set(unique(cases, "list")))
        self.say("## Counted instructions on arm64", "", "Not cycles. Instructions of mb-neon over "
                 "those of the library, the higher one of sealing and opening:", "")
        rows = [[length] + [f"{max(per_chunk(cases, 'mb-neon', d, length, n) / per_chunk(cases, 'lib', d, length, n) for d in ('seal', 'open')):.2f}"
                            for n in lists] for length in lengths]
        self.say(*table(["bytes"] + [f"lists of {n}" for n in lists], rows))
        for direction in "seal", "open":
            def per_byte(engine, n):
                return {length: per_chunk(cases, engine, direction, length, n) / length
                        for length in lengths}

            lines = {f"mb-neon, lists of {n}": per_byte("mb-neon", n) for n in (1, 3, 16)}
            lines["lib"] = per_byte("lib", 1)
            self.picture(f"arm64-{direction}", f"{direction}, arm64", "bytes of a chunk",
                         "instructions per byte", lines)

    def aims(self):
        self.say("## Aims", "", *table(["", "value", "aim", ""], (
            [row["name"], row["value"], row["aim"], "met" if row["met"] else "missed"]
            for row in self.data["aims"])))

    def calls(self):
        rows = []
        for direction in "seal", "open":
            cases = pick(self.found["chunks"], engine="lib", direction=direction)
            chunked = pick(cases, chunk_size=512)[0]
            whole = max(cases, key=lambda c: c["chunk-size"])
            calls = -(-chunked["bytes"] // 512)
            rows.append([direction, f"{(chunked['median-ns'] - whole['median-ns']) / (calls - 1):.0f}"])
        self.say("## Cost of a further call of the library", "",
                 "Difference between the payload in chunks of 512 bytes and in one piece.", "")
        self.say(*table(["", "ns"], rows))

    def against(self):
        self.say("## Against the library", "", "Speed relative to the library: 128 KiB in chunks of 512 bytes by both; 64 "
                 "KiB in such chunks against one call; a record of 512 + 512 + 384 bytes; a "
                 "lone chunk. For mb-avx2:avx2 AVX-512 was hidden from the library as well, "
                 "with the suffix :ssse3 all of AVX. mb-neon:arm64 is the ratio of "
                 "instructions, counted on an emulated CPU, with 8 KiB as its long payload.", "")
        for title, ratios in (("By medians:", self.data["ratios"]),
                              ("By the shortest times, which neighbours of the machine disturb least:", self.data["ratios-of-minima"])):
            names = list(dict.fromkeys(k.split(" ", 1)[1] for k in ratios))
            self.say(title, "", *table(["engine"] + names, (
                [engine] + [ratios.get(f"{engine} {name}", "-") for name in names]
                for engine in dict.fromkeys(k.split(" ", 1)[0] for k in ratios))))

    def dispatch(self):
        cases = self.found["dispatch"]
        base = pick(cases, strategy="inline")[0]["median-ns"]
        workers = sorted(set(unique(cases, "workers")))
        self.say("## Ways to hand work over", "", "Efficiency: single-worker inline time divided by the time until all workers "
                 "are done, each with a payload of its own. In brackets, the slowdown of a "
                 "worker's own time.", "")
        rows = []
        for strategy in unique(cases, "strategy")[1:]:
            row = [strategy]
            for n in workers:
                c = pick(cases, strategy=strategy, schedule="own", workers=n)[0]
                row.append(f"{100 * base / c['median-ns']:.0f} % ({c['work-ns'] / base:.2f}x)")
            rows.append(row)
        self.say(*table(["strategy"] + [f"{n} workers" for n in workers], rows))
        self.say("One payload shared by all, MB/s:", "")
        self.say(*table(["strategy", "schedule"] + [f"{n} workers" for n in workers], (
            [strategy, schedule] + [f"{mb_s(c):.0f}" for c in
                                    pick(cases, strategy=strategy, schedule=schedule)]
            for strategy in unique(cases, "strategy")[1:]
            for schedule in unique(cases, "schedule")[1:])))

    def split(self, name, title):
        cases = self.found[name]
        self.say(f"## A payload in two halves, {title}", "", "One half here, the other handed "
                 "over. Microseconds until both are done, median and 99th percentile, and, in brackets, the median until the other CPU has started.", "")
        strategies = unique(cases, "strategy")
        self.say(*table(["bytes"] + strategies, (
            [size(n)] + [f"{c['median-ns'] / 1000:.1f} / {c['p99-ns'] / 1000:.1f} "
                         f"({c['start-p50-ns'] / 1000:.1f})" for c in pick(cases, bytes=n)]
            for n in unique(cases, "bytes"))))
        even = self.data["break-even"][name]
        self.say("Bytes from which it pays: " + ", ".join(
            f"{s} {size(n) if n else 'never'}" for s, n in even.items()) + ".", "")
        self.picture(name, f"a payload in two halves, {title}", "bytes", "us",
                     {s: {c["bytes"]: c["median-ns"] / 1000 for c in pick(cases, strategy=s)}
                      for s in strategies})

    def scaling(self):
        cases = self.found["scaling"]
        workers = sorted(set(unique(cases, "workers")))
        self.say("## Scaling", "", "MB/s of all workers together; copying moves each byte twice "
                 "(read and written), as the cipher does.", "")
        rows = []
        for engine in unique(cases, "engine"):
            for n in unique(cases, "bytes"):
                speed = {c["workers"]: mb_s(c, c["workers"])
                         for c in pick(cases, engine=engine, bytes=n)}
                rows.append([engine, size(n)] +
                            [f"{speed[w]:.0f}" if w in speed else "-" for w in workers] +
                            [bound(speed)])
        self.say(*table(["engine", "payload"] + [f"{n}" for n in workers] +
                        ["share that does not scale"], rows))
        self.say("The last column is Amdahl's law for one worker and for all: the share of "
                 "the work that more CPUs do not shorten. If it grows with the payload, for "
                 "copying as well, memory is the bound.", "")

    def others(self):
        sizes = [512 << i for i in range(8)]
        self.say("## Others' figures", "", "As published, on other machines, in user space.", "")
        for name, other in self.published["chunked"].items():
            self.say(f"{name}: {other['machine']}. Source: {other['source']}.", "")
            self.say(*table(["MB/s"] + [size(s) for s in sizes], (
                [direction] + [f"{other[direction][str(s)]} "
                               f"({100 * other[direction][str(s)] / other['peak'][direction]:.0f} %)"
                               for s in sizes] for direction in ("seal", "open"))))
            self.say(f"Efficiency by workers, of {other['efficiency of']}:", "")
            self.say(*table(["efficiency"] + list(other["efficiency"]["pthread"]), (
                [strategy] + [f"{v} %" for v in line.values()]
                for strategy, line in other["efficiency"].items())))
        pieces = self.published["one piece"]
        sources = list(dict.fromkeys(p["source"] for p in pieces))
        self.say("Long messages in one piece:", "")
        self.say(*table(["implementation", "machine", "MB/s", "source"], (
            [p["who"], p["machine"], p["MB/s"], sources.index(p["source"]) + 1] for p in pieces)))
        for i, source in enumerate(sources, 1):
            self.say(f"{i}. {source}")
        other = self.published["hand-over"]
        self.say("", f"Cost of handing over small messages: {other['machine']}. "
                 f"Source: {other['source']}.", "")
        self.say(*table(["messages per second", "event loop", "pool", "ratio"], (
            [name, n["inline"], n["pool"], f"{n['pool'] / n['inline']:.2f}"]
            for name, n in other["messages per second"].items())))

    def write(self):
        self.head()
        self.chunks()
        self.peers()
        self.curves()
        self.counted()
        self.aims()
        self.calls()
        self.against()
        self.dispatch()
        self.split("split", "by the engine")
        self.split("split-lib", "by the library")
        self.scaling()
        self.others()
        with open(os.path.join(self.directory, "report.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines))


def bound(speed):
    """The serial share after Amdahl, from one worker and from all."""
    n = max(speed)
    if n < 2 or 1 not in speed:
        return "-"
    share = (n * speed[1] / speed[n] - 1) / (n - 1)
    return f"{100 * max(share, 0):.0f} %"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as file:
        data = json.load(file)
    with open(os.path.join(HERE, "published.json"), encoding="utf-8") as file:
        published = json.load(file)
    os.makedirs(sys.argv[2], exist_ok=True)
    Report(data, published, sys.argv[2]).write()
    print(os.path.join(sys.argv[2], "report.md"))


main()

# SPDX-License-Identifier: GPL-2.0
"""Line charts as SVG, with a logarithmic axis to the right."""
from html import escape
from math import log2

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 170, 40, 48
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def size(number):
    for unit, name in (1 << 20, "Mi"), (1 << 10, "Ki"):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {name}"
    return str(number)


def nice(top):
    """A round number not below it, and a fifth or so of that."""
    step = 10 ** len(str(int(top))) / 100
    while top / step > 8:
        step *= 2 if str(step)[0] != "2" else 2.5
    return (int(top / step) + 1) * step, step


def chart(title, x_name, y_name, lines):
    """@lines: {name: {x: y}}"""
    xs = sorted({x for line in lines.values() for x in line})
    top, step = nice(max(y for line in lines.values() for y in line.values()))
    span = max(log2(xs[-1] / xs[0]), 1e-9)

    def at(x, y):
        return (LEFT + (WIDTH - LEFT - RIGHT) * log2(x / xs[0]) / span,
                HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / top)

    def text(x, y, words, anchor="middle"):
        return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(words)}</text>'

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           text(WIDTH / 2, 20, title), text((WIDTH + LEFT - RIGHT) / 2, HEIGHT - 8, x_name),
           text(LEFT, TOP - 6, y_name)]
    for i in range(int(top / step + 1.5)):
        x, y = at(xs[0], i * step)
        out += [f'<path d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>',
                text(x - 6, y + 4, f"{i * step:g}", "end")]
    out += [text(at(x, 0)[0], HEIGHT - BOTTOM + 18, size(x)) for x in xs]
    for i, (name, line) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        points = [at(x, line[x]) for x in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        out += [f'<rect x="{WIDTH - RIGHT + 14}" y="{TOP + 20 * i}" width="12" height="12" '
                f'fill="{colour}"/>',
                text(WIDTH - RIGHT + 32, TOP + 20 * i + 10, name, "start")]
    return "\n".join(out + ["</svg>", ""])

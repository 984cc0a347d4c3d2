#!/usr/bin/env python3
"""Draws measured GEMMs on a roofline: roofline.py OUT.svg RESULTS.json... (files of fp8_gemm_bench --json).

x: FLOP per byte of weights, A and D; y: TFLOP/s; both logarithmic. The sloped line is the fastest pure read
('roof_pdl') in the files. Later files win where two hold the same shape, M and method.
"""

import json
import math
import sys

NK = {"gate_up": (34816, 5120), "down": (5120, 17408), "attn_out": (5120, 6144), "lin_in": (16384, 5120),
      "qkv": (14336, 5120)}
COLOURS = {"hotproof": "#0b6e4f", "cublaslt": "#c1440e"}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 520, 70, 40, 20, 55
X_RANGE, Y_RANGE = (1.5, 400.0), (4.0, 1000.0)


def place(x, y):
    fraction = lambda v, low, high: math.log(v / low) / math.log(high / low)
    return (LEFT + fraction(x, *X_RANGE) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - fraction(y, *Y_RANGE) * (HEIGHT - TOP - BOTTOM))


def main(out, paths):
    records, roof = {}, 0.0
    for path in paths:
        with open(path) as file:
            for r in json.load(file)["records"]:
                if r["what"] != "shape":
                    continue
                if r["method"] == "roof_pdl":
                    roof = max(roof, r["tb_per_s"])
                records[r["shape"], r["m"], r["method"]] = r["us"]
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    text = lambda x, y, s, extra="": svg.append(f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{s}</text>')
    for x in (2, 4, 8, 16, 32, 64, 128, 256):
        (x0, y0), (_, y1) = place(x, Y_RANGE[0]), place(x, Y_RANGE[1])
        svg.append(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x0:.1f}" y2="{y1:.1f}" stroke="#ddd"/>')
        text(x0, y0 + 16, x, 'text-anchor="middle"')
    for y in (5, 10, 20, 50, 100, 200, 500, 1000):
        (x0, y0), (x1, _) = place(X_RANGE[0], y), place(X_RANGE[1], y)
        svg.append(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y0:.1f}" stroke="#ddd"/>')
        text(x0 - 6, y0 + 4, y, 'text-anchor="end"')
    ends = [place(x, roof * x) for x in (max(X_RANGE[0], Y_RANGE[0] / roof), Y_RANGE[1] / roof)]
    svg.append(f'<line x1="{ends[0][0]:.1f}" y1="{ends[0][1]:.1f}" x2="{ends[1][0]:.1f}" '
               f'y2="{ends[1][1]:.1f}" stroke="black" stroke-width="1.5"/>')
    for (shape, m, method), us in sorted(records.items()):
        if method not in COLOURS:
            continue
        n, k = NK[shape]
        flop, data = 2.0 * m * n * k, n * k + m * k + 2.0 * m * n
        x, y = place(flop / data, flop / us * 1e-6)
        svg.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{COLOURS[method]}" fill-opacity="0.7">'
                   f'<title>{shape} M {m} {method}: {us:.2f} us</title></circle>')
    text(LEFT, 22, f"FP8 block-scaled GEMMs, M = 1 to 128, H200; line: {roof:.2f} TB/s, pure read")
    for i, (method, colour) in enumerate(COLOURS.items()):
        svg.append(f'<circle cx="{LEFT + 20}" cy="{TOP + 20 + 18 * i}" r="4" fill="{colour}"/>')
        text(LEFT + 30, TOP + 24 + 18 * i, method)
    text(WIDTH / 2, HEIGHT - 14, "FLOP per byte (weights, A, D)", 'text-anchor="middle"')
    text(18, HEIGHT / 2, "TFLOP/s", f'text-anchor="middle" transform="rotate(-90 18 {HEIGHT / 2})"')
    svg.append("</svg>")
    with open(out, "w") as file:
        file.write("\n".join(svg) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])

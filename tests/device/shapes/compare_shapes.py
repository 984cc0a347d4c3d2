"""Holds a report against what shapes_program.py asked for: launches by shape, per library.

Usage: compare_shapes.py ASKED.json REPORT.json     (REPORT: hotproof report DIR --phase all --format json)
Exit 0: no wrong shape, at most 2% unknown and none for the libraries that have to be exact.
"""
import collections
import json
import sys

# At most 2% of the launches of others.
LEAST_LAUNCHES = 500
MAY_BE_UNKNOWN = {"torch row-wise", "flashinfer", "vllm marlin", "vllm machete"}


def key(row):
    return row["m"], row["n"], row["k"], row.get("batch", 1)


def pop_parts(recorded, row, asked, added_up):
    """Of a library that splits M over launches: all rows of this N and K, if their M add up to what was asked."""
    same = [r for r in asked if r.get("in_parts") and all(r[d] == row[d] for d in ("n", "k", "batch", "paths"))]
    product = row["n"], row["k"], row["batch"], *row["paths"]
    if product not in added_up:
        most = max(r["m"] for r in same)
        keys = [k for k in recorded if k[1:] == (row["n"], row["k"], row["batch"]) and k[0] <= most]
        found = [r for k in keys for r in recorded[k] if r["path"] in row["paths"]]
        added_up[product] = (sum(r["m"] * r["launches"] for r in found) ==
                             sum(r["m"] * r["launches"] for r in same))
        for k in keys if added_up[product] else ():
            del recorded[k]
    return [{**row, "path": row["paths"][0], "kernel": ""}] if added_up[product] else []


def kernels(found, paths):
    launches = collections.Counter()
    for row in found:
        if row["path"] in paths:
            launches[row["kernel"]] += row["launches"]
    return launches


def compare(asked, report):
    """({library: Counter of right, missing, wrong path, more}, rows nobody asked for, unknown launches)."""
    recorded = collections.defaultdict(list)
    unknown = collections.Counter()
    for row in report["gemms"]:
        if all(row.get(dim) for dim in "mnk"):
            recorded[key(row)].append(row)
        else:
            unknown[row["path"]] += row["launches"]
    result = collections.defaultdict(collections.Counter)
    added_up = {}
    for row in asked:
        if row["m"] is None:  # nothing on the host tells: any launch of these libraries without a shape
            counts, left = result[row["library"]], row["launches"]
            for path in row["paths"]:
                taken = min(unknown[path], left)
                unknown[path] -= taken
                left -= taken
                counts["groups in device memory"] += taken
            counts["not recorded"] += left
            continue
        found = pop_parts(recorded, row, asked, added_up) if row.get("in_parts") else recorded.pop(key(row), [])
        counts = result[row["library"]]
        by_kernel = kernels(found, row["paths"])
        launches = sum(by_kernel.values())
        counts["asked"] += row["launches"]
        counts["right"] += min(launches, row["launches"])
        counts["missing"] += max(row["launches"] - launches, 0)
        # One call may launch several kernels that share the product (cuBLAS: whole waves, split K for the rest).
        counts["more"] += max([count - row["launches"] for count in by_kernel.values() if count > row["launches"]],
                              default=0)
        counts["on another path"] += sum(r["launches"] for r in found if r["path"] not in row["paths"])
    return result, [row for rows in recorded.values() for row in rows], unknown


def verdict(result, surplus, unknown):
    """Sentences about what is wrong; none: all is well."""
    wrong = [f"nobody asked for {row['m']} x {row['n']} x {row['k']} batch {row.get('batch', 1)} by "
             f"{row['path']} {row['kernel'][:60]} ({row['launches']:.0f} launches)" for row in surplus]
    asked = sum(counts["asked"] for counts in result.values())
    missing = sum(counts["missing"] for counts in result.values())
    if not result:
        wrong.append("nothing was asked for")
    elif 0 < asked < LEAST_LAUNCHES:
        wrong.append(f"only {asked} launches asked for")
    for library, counts in result.items():
        if counts["more"]:
            wrong.append(f"{library}: {counts['more']:.0f} launches more than asked for")
        if counts["on another path"]:
            wrong.append(f"{library}: {counts['on another path']:.0f} launches on another path")
        if counts["not recorded"]:
            wrong.append(f"{library}: {counts['not recorded']:.0f} launches not recorded")
        if counts["missing"] and library not in MAY_BE_UNKNOWN:
            wrong.append(f"{library}: {counts['missing']:.0f} launches without their shape")
    if missing > 0.02 * asked:
        wrong.append(f"{missing:.0f} of {asked} launches without their shape, more than 2%")
    if sum(unknown.values()) > missing:
        wrong.append(f"{sum(unknown.values()):.0f} launches of unknown shape, {missing:.0f} missing")
    return wrong


def main():
    asked, report = (json.load(open(path)) for path in sys.argv[1:3])
    result, surplus, unknown = compare(asked, report)
    for library, counts in result.items():
        print(f"{library:28}", *(f"{name} {count:.0f}" for name, count in counts.items() if count))
    wrong = verdict(result, surplus, unknown)
    print(*wrong, sep="\n")
    print("FAIL" if wrong else "PASS")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

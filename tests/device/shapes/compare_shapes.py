"""Holds a report against what shapes_program.py asked for: launches by shape, per library, and of each what else was
asked for: types of A, B and D, scaling, launching library, library call, eager or captured (asking.py).

Usage: compare_shapes.py ASKED.json REPORT.json     (REPORT: hotproof report DIR --phase all --format json)
Exit 0: nothing wrong, at most 2% of shapes unknown and none for the libraries that have to be exact, and nothing else
unknown but what a launch of that library does not tell.
"""
import collections
import json
import re
import sys

# At most 2% of the launches of others.
LEAST_LAUNCHES = 500
MAY_BE_UNKNOWN = {"torch row-wise", "flashinfer", "vllm marlin", "vllm machete"}
FACTS = ("A", "B", "D", "scaling", "library", "call", "captured")
# What nothing in a launch tells: Triton's kernels have no types in their names, and pointers as arguments.
NOT_TOLD = {"vllm triton block": {"D"}, "vllm triton scaled": {"A", "B", "D", "scaling"}}
# Where the arguments tell whether scales are vectors: beyond 64 argument sets of a kernel these are not kept whole.
SCALES_IN_ARGUMENTS = re.compile("vllm cutlass (?!block)|sgl-kernel ")


def key(row):
    return row["m"], row["n"], row["k"], row.get("batch", 1)


def pop_parts(recorded, row, asked, added_up, parts):
    """Of a library that splits M over launches: all rows of this N and K, if their M add up to what was asked. `parts`
    are these rows when they are met first."""
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
        parts += found
    return [{**row, "path": row["paths"][0], "kernel": ""}] if added_up[product] else []


def kernels(found, paths):
    launches = collections.Counter()
    for row in found:
        if row["path"] in paths:
            launches[row["kernel"]] += row["launches"]
    return launches


def told(said, asked):
    """right, wrong or unknown; of 'x or y' nothing is known but that it is none of others. `asked`: what is right."""
    if not said:
        return "unknown"
    if " or " in said:  # token_channel: of tokens, of channels or of both
        either = {"token_channel" if one in ("token", "channel") else one for one in asked}
        return "unknown" if either & set(said.split(" or ")) else "wrong"
    return "right" if said in asked else "wrong"


def is_asked_call(call, row):
    """Whether `call` of a report is one of those that `row` asked for, in the library's words: its A is the weight."""
    if (call["aDtype"], call["bDtype"], call["dDtype"]) != (row["b"], row["a"], row["d"]):
        return False
    return any(re.fullmatch(re.escape(asked["entryPoint"]) + "(_v2)?(_64)?", call["entryPoint"]) and
               all(call[name] == value for name, value in asked.items() if name != "entryPoint")
               for asked in row["calls"])


def facts(row, found):
    """{what else was asked for: Counter of right, wrong and unknown launches} over a report's rows of that shape."""
    result = collections.defaultdict(collections.Counter)
    for each in found:
        launches = each["launches"]
        for what, name, field in (("A", "a", "aDtype"), ("B", "b", "bDtype"), ("D", "d", "dDtype"),
                                  ("scaling", "scaling", "scaling")):
            if row.get(name):
                right = row[name] if isinstance(row[name], list) else [row[name]]
                result[what][told(each[field], right)] += launches
        if row.get("launchers") is not None:
            library = each.get("library")
            how = "unknown" if not library else "right" if library in row["launchers"] else "wrong"
            result["library"][how] += launches
        if row.get("calls"):
            seen = [(call["launches"], is_asked_call(call, row)) for call in each["calls"]]
            result["call"]["right"] += sum(count for count, as_asked in seen if as_asked)
            result["call"]["wrong"] += sum(count for count, as_asked in seen if not as_asked)
            result["call"]["unknown"] += launches - sum(count for count, _ in seen)
        elif row.get("calls") == []:
            result["call"]["wrong" if each["calls"] else "right"] += launches
    if "captured" in row and found:
        # Several kernels may share a product: what counts is the part that was replayed.
        launches = sum(each["launches"] for each in found)
        replayed = launches - sum(each["eagerLaunches"] for each in found)
        right = replayed * row["launches"] == launches * row["captured"]
        result["captured"]["right" if right else "wrong"] += launches
    return result


def compare(asked, report):
    """({library: Counter of right, missing, wrong path, more, and of facts ("scaling wrong")}, rows nobody asked for,
    unknown launches)."""
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
        parts = []
        found = (pop_parts(recorded, row, asked, added_up, parts) if row.get("in_parts")
                 else recorded.pop(key(row), []))
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
        of_path = parts if row.get("in_parts") else [r for r in found if r["path"] in row["paths"]]
        for what, told_launches in facts(row, of_path).items():
            for how, launches in told_launches.items():
                counts[f"{what} {how}"] += launches
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
        for what in FACTS:
            if counts[f"{what} wrong"]:
                wrong.append(f"{library}: {counts[f'{what} wrong']:.0f} launches with another {what} than asked for")
            may_be = what in NOT_TOLD.get(library, ()) or what == "scaling" and SCALES_IN_ARGUMENTS.match(library)
            if counts[f"{what} unknown"] and not may_be:
                wrong.append(f"{library}: {counts[f'{what} unknown']:.0f} launches whose {what} is unknown")
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
        of_facts = {f"{what} {how}" for what in FACTS for how in ("right", "wrong", "unknown")}
        print(f"{library:28}", *(f"{name} {count:.0f}" for name, count in counts.items()
                                 if count and name not in of_facts))
        for how in ("right", "wrong", "unknown"):
            line = [f"{what} {counts[f'{what} {how}']:.0f}" for what in FACTS if counts[f"{what} {how}"]]
            if line:
                print(f"    {how + ':':9}", *line)
    wrong = verdict(result, surplus, unknown)
    print(*wrong, sep="\n")
    print("FAIL" if wrong else "PASS")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

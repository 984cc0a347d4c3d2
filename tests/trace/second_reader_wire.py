"""Protobuf messages by the schema in proto/trace.proto, without protobuf: what second_reader.py reads frames with."""
import os
import re

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto", "trace.proto")
MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def read_schema(path):
    """{message: {number: (name, type, repeated)}} of a .proto file; enums count as int32."""
    text = re.sub(r"//.*", "", open(path).read())
    enums = re.findall(r"enum (\w+)", text)
    return {message: {int(number): (name, "int32" if kind in enums else kind, bool(repeated))
                      for repeated, kind, name, number in re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body)}
            for message, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.S)}


SCHEMA = read_schema(PROTO)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & MASK64, at
        shift += 7


def packed(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def scalar(kind, raw):
    if kind.startswith("sint"):
        return (raw >> 1) ^ -(raw & 1)
    return raw - 2**64 if kind == "int32" and raw >= 2**63 else raw


def parse(message, data):
    """A dict by field name; repeated fields are lists, absent scalars are not in it."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 1:
            raw, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            raw, at = varint(data, at)
            if wire == 2:
                raw, at = data[at:at + raw], at + raw
        if at > len(data) or wire not in (0, 1, 2):
            raise ValueError("no valid message")
        if number not in SCHEMA[message]:
            continue
        name, kind, repeated = SCHEMA[message][number]
        if kind in SCHEMA:
            values = [parse(kind, raw)]
        elif wire == 2 and kind not in ("string", "bytes"):
            values = [scalar(kind, value) for value in packed(raw)]
        else:
            values = [scalar(kind, raw)]
        if repeated:
            out.setdefault(name, []).extend(values)
        else:
            out[name] = merged(out.get(name, {}), values[0]) if kind in SCHEMA else values[0]
    return out


def merged(old, new):
    """Protobuf's rules: lists grow, the rest is replaced."""
    return {**old, **{k: old.get(k, []) + v if isinstance(v, list) else v for k, v in new.items()}}

"""What was measured, as figures and as a table."""
import statistics

GOODPUT = 0.956  # of a link's rate: what TCP and IP headers leave of frames of 1500 bytes
# Bytes of a message's element against the 4 of the vector's, by the last word of a contestant's or variant's name.
WIRES = {"bf16": 2 / 4, "f16": 2 / 4, "fx16": (2 + 4 / 128) / 4, "fx12": (1.5 + 4 / 128) / 4, "fx8": (1 + 4 / 128) / 4}


def summarise(samples, workers, size, rate):
    """`samples`: contestant to its repetitions, each a list of the ranks' answers. `rate` in bit/s, or None."""
    rows = [_row(name, repetitions, workers, size, rate) for name, repetitions in samples.items()]
    peers = [row for row in rows if not row["name"].startswith("cerar") and not row["name"].endswith("-f16")]
    best = min(peers, key=lambda row: row["median_ms"], default=None)
    for row in rows:
        row["ratio_to_best_peer"] = row["median_ms"] / best["median_ms"] if best else None
    return rows, best["name"] if best else None


def table(rows):
    heading = ["contestant", "c", "median ms", "min", "max", "sent/d", "frames/d", "theory", "to best", "to theory", "error", "claim"]
    lines = [heading]
    for row in rows:
        lines.append([row["name"], row["components"], _text(row["median_ms"], ".1f"), _text(row["min_ms"], ".1f"),
                      _text(row["max_ms"], ".1f"), _text(row["sent_per_byte"], ".3f"), _text(row["frames_per_byte"], ".3f"),
                      _text(row["theory_per_byte"], ".3f"), _text(row["ratio_to_best_peer"], ".3f"), _text(row["ratio_to_theory"], ".3f"),
                      _text(row["error"], ".2e"), _text(row["claimed_error"], ".2e")])
    widths = [max(len(str(line[i])) for line in lines) for i in range(len(heading))]
    return "\n".join("  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths))) for line in lines)


def _row(name, repetitions, workers, size, rate):
    # A repetition takes as long as its slowest rank.
    times = [1e3 * max(answer["seconds"] for answer in answers) for answers in repetitions]
    answers = [answer for repetition in repetitions for answer in repetition]
    frames = [answer["frame_bytes"] for answer in answers]
    components = answers[0].get("components") or workers  # every exact peer sends what a ring does, or more
    wire = (answers[0].get("variant") or name).rpartition("-")[2]
    per_byte = (1 + (workers - 2) / components) * WIRES.get(wire, 1)
    theory = 1e3 * 8 * per_byte * size / (GOODPUT * rate) if rate else None
    median = statistics.median(times)
    return {
        "name": name, "components": components, "variant": answers[0].get("variant", ""),
        "times_ms": times, "median_ms": median, "min_ms": min(times), "max_ms": max(times),
        "sent_bytes": statistics.mean(answer["sent_bytes"] for answer in answers),
        "sent_per_byte": statistics.mean(answer["sent_bytes"] for answer in answers) / size,
        "frames_per_byte": statistics.mean(frames) / size if None not in frames else None,
        "theory_per_byte": per_byte, "theory_ms": theory, "ratio_to_theory": median / theory if theory else None,
        "error": max(answer["error"] or float("inf") for answer in answers),  # JSON knows no infinity: null
        "claimed_error": answers[0].get("claimed_error"),
    }


def _text(value, form):
    return "-" if value is None else format(value, form)

"""A report as a picture: throughput, recovery and latency, by contender."""

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.report import Report

_OURS, _OTHERS = "#1f6f8b", "#b8c4c9"


def plot(report: Report, path: Path) -> None:
    """Draw a report as SVG. Nothing is drawn where nothing was measured."""
    names = list(report.throughput)
    if not names:
        return
    mpl.rcParams["svg.hashsalt"] = "benchmarks"  # the same figures make the same file
    panels = [
        ("Deliveries a second", {name: one.per_s for name, one in report.throughput.items()}),
        ("Recovered records a second", {name: one.recovery_per_s for name, one in report.throughput.items()}),
        ("99th percentile at 1,000 a second, ms", {name: one.p99 for name, one in report.steady.items()}),
        ("Median of an idle worker, ms", {name: one.p50 for name, one in report.idle.items()}),
    ]
    figure, axes = plt.subplots(1, len(panels), figsize=(15, 3.4), layout="constrained")
    for axis, (title, values) in zip(axes, panels, strict=True):
        heights = [values.get(name, 0) for name in names]
        bars = axis.bar(names, heights, color=[_OURS if name == "proofstream" else _OTHERS for name in names])
        axis.bar_label(bars, labels=[f"{height:,.0f}" for height in heights], padding=2)
        axis.set_title(title, fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(y=0.15)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)

"""One self-contained HTML page on an estimate and the draws behind it."""

from epluribus.report.build import build_report, write_report

__all__ = ["build_report", "write_report"]

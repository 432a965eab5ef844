-- The floor for wrk: an empty request; printed as the others are.

function done(summary, latency, _)
  print(string.format(
    "wrk requests=%d seconds=%.3f refused=%d broken=0 p50_ms=%.2f p99_ms=%.2f max_ms=%.1f",
    summary.requests, summary.duration / 1e6, summary.errors.status,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3
  ))
end

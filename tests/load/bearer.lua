-- GET with a token, for wrk. Arguments after `--`: a file with a token on each line, one of which is taken at random for each request. Without
-- a file there is no token.

local tokens = {}

function init(args)
  if not args[1] then return end
  for line in io.lines(args[1]) do tokens[#tokens + 1] = "Bearer " .. line end
  math.randomseed(tonumber(tostring(tokens):match("0x(%x+)"), 16) % 2147483647)
  wrk.headers["Authorization"] = tokens[1]
  if #tokens == 1 then return end -- one request for all, made once
  local before, after = wrk.format("GET"):match("^(.*Authorization: )[^\r]*(\r\n.*)$")
  request = function() return before .. tokens[math.random(#tokens)] .. after end
end

function done(summary, latency, _)
  local errors = summary.errors
  print(string.format(
    "wrk requests=%d seconds=%.3f refused=%d broken=%d p50_ms=%.2f p99_ms=%.2f max_ms=%.1f",
    summary.requests, summary.duration / 1e6, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3
  ))
end

-- Registrations for wrk, each with an address of its own. Arguments after `--`: a name for this run, and of how many
-- hundreds one repeats an address of shortly before (0: none).
--
-- Nothing looks at answers: wrk counts those above 399, and the database says how many registered.

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

local head = "POST /auth/register HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
local form = '{"email":"person-%%09d@%s-%d.example","username":"Person %%09d","password":"pass phrase %%09d"}'
local template, sent, repeats = "", 0, 0

function init(args)
  local body = string.format(form, args[1], thread_number)
  local length = #string.format(body, 0, 0, 0)
  template = string.format(head, length) .. body
  repeats = tonumber(args[2] or "0")
end

function request()
  sent = sent + 1
  local number = sent
  if repeats > 0 and sent > 100 and sent % 100 < repeats then
    number = sent - 37
  end
  return string.format(template, number, number, number)
end

function done(summary, latency, _)
  local errors = summary.errors
  print(string.format(
    "wrk requests=%d seconds=%.3f refused=%d broken=%d p50_ms=%.2f p99_ms=%.2f max_ms=%.1f",
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3
  ))
end

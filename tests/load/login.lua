-- Logins for wrk of people that register.lua has registered. Arguments after `--`: the name of that run, and how many of each
-- thread are known to be there.

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

local head = "POST /auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
local form = '{"email":"person-%%09d@%s-%d.example","password":"pass phrase %%09d"}'
local template, sent, people = "", 0, 1

function init(args)
  local body = string.format(form, args[1], thread_number)
  template = string.format(head, #string.format(body, 0, 0)) .. body
  people = tonumber(args[2])
end

function request()
  sent = sent + 1
  local number = 1 + sent % people
  return string.format(template, number, number)
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

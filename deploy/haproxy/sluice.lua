-- Asks Sluice about each request: `http-request lua.sluice http://ADDRESS:PORT`.
--
-- The question carries the headers of the request (token, DPoP proof), the method, the path and the host, and of the body only whether
-- there is one: a preflight has none. A 200 lets the request pass with the OAuth-* headers of the answer, and says so in the variable
-- txn.sluice; 400, 401, 403, 404, 405, 429, 501 and 503 go to the client as they are; everything else, also a Sluice that cannot be
-- reached, is 502. A request without a host is 400 unasked, one of too many header lines 431, and so is one that leaves no room for what
-- Sluice says.
--
-- HAProxy takes an error in here for nothing at all and goes on with the request. What follows in its configuration must therefore refuse
-- whatever has not txn.sluice: see haproxy.cfg.

local PATH = "/oauth/auth_request"
local TIMEOUT = 5000 -- ms

-- The most header lines of a question. Keep it below tune.http.maxhdr (101), also where you set that: HAProxy writes more beyond its own
-- memory, and ends. Sluice reads 100, and HAProxy adds two.
local MOST_LINES = 96

-- Of the connection or the body, not of the question.
local LEFT_OUT = {
    ["connection"] = true,
    ["content-length"] = true,
    ["content-encoding"] = true,
    ["content-type"] = true,
    ["expect"] = true,
    ["keep-alive"] = true,
    ["proxy-connection"] = true,
    ["te"] = true,
    ["trailer"] = true,
    ["transfer-encoding"] = true,
    ["upgrade"] = true,
    ["x-original-content-length"] = true,
    ["x-original-transfer-encoding"] = true,
    ["x-original-method"] = true,
    ["x-original-uri"] = true,
    ["x-original-host"] = true,
}

-- Headers that a request gets from a 200 beside OAuth-*, in lower case: those that your routes set (headers.fixed, headers.claims,
-- phantom_token.header), such as ["x-tenant"] = true. haproxy.cfg must take each of them from what clients send.
local ALSO = {}

-- What of a refusal goes to the client.
local PASSED_ON = {
    "www-authenticate", "dpop-nonce", "retry-after", "allow", "ratelimit", "ratelimit-policy", "content-type", "cache-control",
    "access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers",
}
local REFUSALS = { [400] = true, [401] = true, [403] = true, [404] = true, [405] = true, [429] = true, [501] = true, [503] = true }

-- What is answered here.
local TITLES = { [400] = "Bad Request", [431] = "Request Header Fields Too Large", [502] = "Bad Gateway" }

-- The lines of one header, which HAProxy counts from zero.
local function values(lines)
    local found = {}
    for index = 0, #lines do
        found[#found + 1] = lines[index]
    end
    return found
end

local function question(txn)
    local headers = {}
    local original = txn.http:req_get_headers()
    for name, lines in pairs(original) do
        if not LEFT_OUT[name] then
            headers[name] = values(lines)
        end
    end
    for _, name in ipairs({ "content-length", "transfer-encoding" }) do
        if original[name] then
            headers["x-original-" .. name] = values(original[name])
        end
    end
    -- Over HTTP/2 a WebSocket has no key before it goes to a server; whether it is one decides which pages may open it with a cookie.
    if original["upgrade"] and not headers["sec-websocket-key"] then
        headers["sec-websocket-key"] = { "AAAAAAAAAAAAAAAAAAAAAA==" }
    end
    headers["x-original-method"] = { txn.sf:method() }
    headers["x-original-uri"] = { txn.sf:pathq() }
    headers["x-original-host"] = headers["host"]
    return headers
end

local function count(headers)
    local lines = 0
    for _, found in pairs(headers) do
        lines = lines + #found
    end
    return lines
end

local function refuse(txn, status, answer)
    local reply = txn:reply({ status = status })
    if answer then
        for _, name in ipairs(PASSED_ON) do
            for _, value in ipairs(values(answer.headers[name] or {})) do
                reply:add_header(name, value)
            end
        end
        reply:set_body(answer.body or "")
    else
        reply:add_header("content-type", "application/problem+json")
        reply:add_header("cache-control", "no-store")
        reply:set_body(('{"title":"%s","status":%d}'):format(TITLES[status], status))
    end
    txn:done(reply)
end

core.register_action("sluice", { "http-req" }, function(txn, address)
    -- Without one (HTTP/1.0) it is in the target alone, if anywhere: there the application would look.
    if txn.sf:req_hdr("host") == "" then
        return refuse(txn, 400)
    end
    local asked = question(txn)
    if count(asked) > MOST_LINES then
        return refuse(txn, 431)
    end
    local answer = core.httpclient():get({ url = address .. PATH, headers = asked, timeout = TIMEOUT })
    local status = answer and answer.status
    if status == 200 then
        for name, lines in pairs(answer.headers) do
            if name:sub(1, 6) == "oauth-" or ALSO[name] then
                local value = values(lines)[1]
                txn.http:req_set_header(name, value)
                -- Where the request leaves no room for it, HAProxy says nothing.
                if txn.sf:req_fhdr(name) ~= value then
                    return refuse(txn, 431)
                end
            end
        end
        -- Last: a request that has not all of its headers has not passed.
        txn:set_var("txn.sluice", "passed")
    elseif REFUSALS[status] and (status ~= 503 or answer.headers["retry-after"]) then
        -- HAProxy makes a 503 itself of a Sluice that cannot be reached; Sluice's own says when to come again.
        refuse(txn, status, answer)
    else
        refuse(txn, 502)
    end
end, 1)

# Varnish 7 in front of an application, with Sluice as the judge of tokens.
#
# Each request goes through Varnish twice. The first time, a request for /oauth/token_validation takes its place; when Sluice answers 200,
# the request is restarted with what Sluice said about the caller in OAuth-* headers.
#
# A token that is bound to a key (DPoP) is refused: a proof is about its request, and Sluice is asked about the token alone.
#
# Change: the three backends; which paths need which scope (sluice_policy); the size of the largest body (1048576 and 1MB).
# Sluice must trust this machine's address (trusted_proxies in its routes file), unless both run on one.

vcl 4.1;

import std;

# Sluice's decisions (serve.decisions).
backend sluice {
    .host = "127.0.0.1";
    .port = "4456";
    .connect_timeout = 1s;
    .first_byte_timeout = 5s;
}

# The gateway itself (serve.gateway), for the metadata of protected resources.
backend sluice_gateway {
    .host = "127.0.0.1";
    .port = "4455";
}

# The application.
backend app {
    .host = "127.0.0.1";
    .port = "8080";
}

# Which scope a path demands. Sluice answers 403 to tokens without it. Case matters: where it does not to the application, begin patterns
# with (?i).
sub sluice_policy {
    if (req.url ~ "^/orders(/|\?|$)") {
        set req.http.OAuth-Scope = "orders.read";
    }
    # What no line here is about passes with any token. If it is not to pass, end with: else { return (synth(403, "Forbidden")); }
}

# The policy compares paths as they came; an application decodes them, merges slashes, resolves dots and cuts parameters off. So a path that
# could be another one to it is refused, as Sluice refuses it where it is asked about paths; here `;`, `//` and escaped `%`, `?` and `#` too,
# which it can judge and a pattern cannot. Whatever does not match goes, also if matching itself fails.
sub sluice_path {
    if (req.url !~ {"(?ix)
        ^ (?: / (?! / | \.\.? (?: [/?] | $ ) )  # no segment is `.` or `..`, and none but the last is empty
            (?: [^\x00-\x20\x7f-\xff%/?#;\\]++  # what needs no escape
            | % (?: 2[0-246-9a-c] | 3[ac-e] | 40 | 5[bde] | 60 | 7[b-d] )  # escapes, but of A-Z 0-9 - . _ ~ / \ ; % ? # and controls
            | % (?! e0%[89] | f0%8 ) (?: c[2-9a-f] | [de][0-9a-f] | f[0-4] ) (?: %[89ab][0-9a-f] ){1,3}+  # UTF-8, none of it ASCII
            )*+
        )++ (?: \? | $ )"}) {
        return (synth(400, "Bad Request"));
    }
}

# The application is told the host as it came, and one that is none (`user@admin.example`) it could read as another; without one it would be told
# this backend's.
sub sluice_host {
    if (req.http.Host !~ "^[A-Za-z0-9._~:\[\]-]+$") {
        return (synth(400, "Bad Request"));
    }
}

# What only Sluice and this file may say. VCL cannot remove headers by a pattern: add the names in strip_headers of the routes file. What
# routes set is not in the answers here, which are about the token alone.
# Spellings with underscores are here because many applications cannot tell them from dashes. The few that take any sign for one
# (OAuth.User.Id) need another proxy: there are too many spellings to name.
sub sluice_strip {
    unset req.http.OAuth-User-Id;
    unset req.http.OAuth-User_Id;
    unset req.http.OAuth_User-Id;
    unset req.http.OAuth_User_Id;
    unset req.http.OAuth-User-Scope;
    unset req.http.OAuth-User_Scope;
    unset req.http.OAuth_User-Scope;
    unset req.http.OAuth_User_Scope;
    unset req.http.OAuth-Client-Id;
    unset req.http.OAuth-Client_Id;
    unset req.http.OAuth_Client-Id;
    unset req.http.OAuth_Client_Id;
    unset req.http.OAuth-Issuer;
    unset req.http.OAuth_Issuer;
    unset req.http.OAuth-Country;
    unset req.http.OAuth_Country;
    unset req.http.OAuth-Token;
    unset req.http.OAuth_Token;
    unset req.http.OAuth-Scope;
    unset req.http.OAuth_Scope;
    unset req.http.OAuth-Ip;
    unset req.http.OAuth_Ip;
    unset req.http.X-Sluice;
    unset req.http.X-Sluice-Method;
    unset req.http.X-Sluice-URL;
    # Nor does a client say below which path the application is, or on which host: gunicorn, Daphne, Pyramid and others then serve another
    # path than the one that was judged.
    unset req.http.Script-Name;
    unset req.http.Script_Name;
    unset req.http.Path-Info;
    unset req.http.Path_Info;
    unset req.http.X-Script-Name;
    unset req.http.X-Script_Name;
    unset req.http.X_Script-Name;
    unset req.http.X_Script_Name;
    unset req.http.X-Vhm-Root;
    unset req.http.X-Vhm_Root;
    unset req.http.X_Vhm-Root;
    unset req.http.X_Vhm_Root;
    unset req.http.X-Vhm-Host;
    unset req.http.X-Vhm_Host;
    unset req.http.X_Vhm-Host;
    unset req.http.X_Vhm_Host;
    unset req.http.Daphne-Root-Path;
    unset req.http.Daphne-Root_Path;
    unset req.http.Daphne_Root-Path;
    unset req.http.Daphne_Root_Path;
    # CGI programs would take it for the setting HTTP_PROXY (httpoxy).
    unset req.http.Proxy;
    # Nor is it believed of a client what its address is, or that it means another host. X-Forwarded-Proto stays: what ends TLS before
    # Varnish has to set it.
    unset req.http.Forwarded;
    unset req.http.X-Forwarded-Host;
    unset req.http.X-Forwarded_Host;
    unset req.http.X_Forwarded-Host;
    unset req.http.X_Forwarded_Host;
    unset req.http.X-Forwarded-Port;
    unset req.http.X-Forwarded-Prefix;
    unset req.http.X-Forwarded-Server;
    unset req.http.X-Real-Ip;
    unset req.http.X-Real_Ip;
    unset req.http.X_Real-Ip;
    unset req.http.X_Real_Ip;
    unset req.http.X-Forwarded_For;
    unset req.http.X_Forwarded-For;
    unset req.http.X_Forwarded_For;
    # Varnish adds to what is there. What ends TLS before it tells the address by the PROXY protocol (-a …,PROXY).
    set req.http.X-Forwarded-For = client.ip;
}

sub vcl_recv {
    if (req.restarts == 0) {
        call sluice_strip;
        call sluice_host;
        call sluice_path;
        # Its answer would show the client what the application was told.
        if (req.method == "TRACE") {
            return (synth(501, "Not Implemented"));
        }
        # The metadata of protected resources (RFC 9728) is the gateway's, with the client's Host. What else comes to it there it judges as any
        # request at its own port, and passes on to an upstream of its routes, if they have one.
        if (req.url ~ "^/\.well-known/oauth-protected-resource(/|\?|$)") {
            set req.backend_hint = sluice_gateway;
            return (pass);
        }
        # Varnish knows a header by its first line. So that a remembered yes is one about all that is sent, each of these becomes one line;
        # Sluice answers 400 to two tokens.
        std.collect(req.http.Authorization, ", ");
        std.collect(req.http.Client-Cert, ", ");
        std.collect(req.http.X-Forwarded-Client-Cert, ", ");
        # Without a token there is nothing to ask.
        if (!req.http.Authorization) {
            return (synth(401, "Unauthorized"));
        }
        # A body that is not kept in memory is lost in the restart: a keep-alive POST then waits for it until it times out, a chunked
        # one arrives empty. Over HTTP/2 nothing says that there is one. Larger ones than this need a proxy without restarts: Sluice itself,
        # or nginx with a client_max_body_size. Varnish ends the connection, or the stream, of one that it cannot keep, and no answer gets
        # out: only one whose length is told beforehand is answered (vcl_synth says when).
        if (std.integer(req.http.Content-Length, 0) > 1048576) {
            return (synth(413, "Content Too Large"));
        }
        if (req.http.Content-Length || req.http.Transfer-Encoding || req.proto == "HTTP/2.0") {
            if (!std.cache_req_body(1MB)) {
                return (synth(413, "Content Too Large"));
            }
        }
        call sluice_policy;
        set req.http.OAuth-Ip = client.ip;
        # A mark in a header: variables of a vmod do not reach the backend's side.
        set req.http.X-Sluice = "ask";
        set req.http.X-Sluice-Method = req.method;
        set req.http.X-Sluice-URL = req.url;
        set req.method = "GET";
        set req.url = "/oauth/token_validation";
        set req.backend_hint = sluice;
        # Nobody waits for the answer to another's request.
        set req.hash_ignore_busy = true;
        return (hash);
    }
    if (req.http.X-Sluice == "passed") {
        set req.method = req.http.X-Sluice-Method;
        set req.url = req.http.X-Sluice-URL;
        unset req.http.X-Sluice;
        unset req.http.X-Sluice-Method;
        unset req.http.X-Sluice-URL;
        unset req.http.OAuth-Scope;
        unset req.http.OAuth-Ip;
        set req.backend_hint = app;
        if (req.http.Upgrade ~ "(?i)^websocket$" && req.method == "GET" && !req.http.Content-Length && !req.http.Transfer-Encoding) {
            return (pipe);
        }
        # The application's answers are personal: pass. Rules of your own about what may be cached belong here.
        return (pass);
    }
}

# Only WebSockets come here, and no other protocol. Varnish carries bytes without a look at them, also if the application does not
# upgrade, and what the client asks for next would pass unasked. So the application is told to close the connection after an answer that
# is none of a WebSocket. One that does not (RFC 9112 §9.6) must not be reached so: take the `return (pipe)` above away.
sub vcl_pipe {
    set bereq.http.Connection = "Upgrade, close";
    set bereq.http.Upgrade = "websocket";
    unset bereq.http.HTTP2-Settings;
    return (pipe);
}

sub vcl_hash {
    # What is remembered is remembered about this token, with this certificate, from this address (the country depends on it), for this
    # scope. Never by URL and host, which all callers share.
    if (req.http.X-Sluice == "ask") {
        hash_data("sluice");
        hash_data(req.http.Authorization);
        # A token that is bound to a certificate holds with that one alone. If serve.decisions.mtls.header names another header, add it here
        # and to the lines with std.collect; what is in front of Varnish must set it, empty too.
        hash_data(req.http.Client-Cert);
        hash_data(req.http.X-Forwarded-Client-Cert);
        hash_data(req.http.OAuth-Ip);
        hash_data(req.http.OAuth-Scope);
        return (lookup);
    }
}

sub vcl_backend_fetch {
    if (bereq.http.X-Sluice == "ask") {
        # The body is the application's. Before Varnish 7.4 this has no effect on one that is kept: Sluice reads it and throws it away.
        unset bereq.body;
        unset bereq.http.Content-Type;
        unset bereq.http.Cookie;
        unset bereq.http.X-Sluice-Method;
        unset bereq.http.X-Sluice-URL;
    }
}

sub vcl_backend_response {
    if (bereq.http.X-Sluice == "ask") {
        # How long a yes is remembered. 0s: every request is asked about, and a revoked token is refused at once. With more, it lives on
        # for as long. All that the answer depends on must be in vcl_hash then.
        set beresp.ttl = 0s;
        set beresp.grace = 0s;
        set beresp.keep = 0s;
        # A no is never remembered.
        if (beresp.status != 200 || beresp.ttl <= 0s) {
            set beresp.ttl = 0s;
            set beresp.uncacheable = true;
        }
        return (deliver);
    }
}

sub vcl_deliver {
    if (req.http.X-Sluice == "ask") {
        if (resp.status == 200) {
            # `set` from a header that is not there would make an empty one.
            if (resp.http.OAuth-User-Id) { set req.http.OAuth-User-Id = resp.http.OAuth-User-Id; }
            if (resp.http.OAuth-User-Scope) { set req.http.OAuth-User-Scope = resp.http.OAuth-User-Scope; }
            if (resp.http.OAuth-Client-Id) { set req.http.OAuth-Client-Id = resp.http.OAuth-Client-Id; }
            if (resp.http.OAuth-Issuer) { set req.http.OAuth-Issuer = resp.http.OAuth-Issuer; }
            if (resp.http.OAuth-Country) { set req.http.OAuth-Country = resp.http.OAuth-Country; }
            # A header for which a request of many has no place left (http_max_hdr) is lost without a word. Varnish makes 500 of the 431 then.
            if ((resp.http.OAuth-User-Id && !req.http.OAuth-User-Id)
                || (resp.http.OAuth-User-Scope && !req.http.OAuth-User-Scope)
                || (resp.http.OAuth-Client-Id && !req.http.OAuth-Client-Id)
                || (resp.http.OAuth-Issuer && !req.http.OAuth-Issuer)
                || (resp.http.OAuth-Country && !req.http.OAuth-Country)) {
                return (synth(431, "Request Header Fields Too Large"));
            }
            set req.http.X-Sluice = "passed";
            return (restart);
        }
        # 400, 401 and 403 go to the client as they are, with WWW-Authenticate.
        if (resp.status < 400 || resp.status > 499) {
            return (synth(502, "Bad Gateway"));
        }
        return (deliver);
    }
}

sub vcl_synth {
    # Varnish reads a body to its end before such an answer goes out, so one of gigabytes that comes slowly would hold a thread for hours.
    # Beyond 16 MiB the answer goes out at once and ends the connection; a client that sends all before it reads may lose it.
    if (req.http.Content-Length && std.integer(req.http.Content-Length, 2147483647) > 16777216) {
        set resp.http.Connection = "close";
    }
    if (resp.status == 401) {
        set resp.http.WWW-Authenticate = "Bearer";
    }
    if (resp.status == 400 || resp.status == 401 || resp.status == 403 || resp.status == 413 || resp.status == 431 || resp.status == 501
        || resp.status == 502) {
        set resp.http.Content-Type = "application/problem+json";
        set resp.http.Cache-Control = "no-store";
        set resp.body = {"{"title":""} + resp.reason + {"","status":"} + resp.status + "}";
        return (deliver);
    }
}

# The blocking design, for the record: the worker itself waits for the authority, 15 ms, before the request goes on. Needs
# vcc_allow_inline_c.

vcl 4.1;

C{
#include <unistd.h>
}C

backend app {
    .host = "127.0.0.1";
    .port = "8080";
}

sub vcl_recv {
    if (!req.http.Authorization) {
        return (synth(401, "Unauthorized"));
    }
    C{
        usleep(15000);
    }C
    set req.http.OAuth-User-Id = "alice";
    return (pass);
}

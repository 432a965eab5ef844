        # The blocking design, for the record: the worker itself asks, and waits for the answer; here it waits only, 15 ms. It stands where the
        # shipped file (deploy/varnish/sluice.vcl) turns to the question that it restarts for; all else is as there. Needs vcc_allow_inline_c.
        C{
            usleep(15000);
        }C
        set req.http.OAuth-User-Id = "alice";
        set req.http.OAuth-User-Scope = "orders.read";
        set req.http.OAuth-Client-Id = "shop";
        set req.http.X-Sluice = "passed";

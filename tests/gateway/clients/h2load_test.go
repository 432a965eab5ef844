package clients

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// nghttp2's load generator: a client that is not forgiving.
func TestH2load(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			takeAndGive(answer, request)
			return
		}
		fmt.Fprint(answer, "hello")
	})
	few := serving(func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "hello") })
	few.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 2}
	listener := listen(t)
	go func() { _ = few.Serve(listener) }()
	t.Cleanup(func() { _ = few.Close() })
	routes := fmt.Sprintf(`
upstreams:
  one: {servers: ["%[1]s"]}
  two: {servers: ["%[1]s"], protocol: http2}
  few: {servers: ["http://%[2]s"], protocol: http2}
routes:
  - {name: to-http1, match: {prefix: /to-http1}, upstream: one}
  - {name: to-http2, match: {prefix: /to-http2}, upstream: two}
  - {name: to-few, match: {prefix: /to-few}, upstream: few}
`, backend, listener.Addr())
	plain := startGateway(t, routes)
	made := newAuthority(t).certify(t, "localhost")
	encrypted := startGateway(t, routes, made.settings()...)
	body := filepath.Join(t.TempDir(), "body")
	must(t, os.WriteFile(body, make([]byte, 100_000), 0o600))

	for _, run := range []struct{ name, url, protocol, requests, option string }{
		{"HTTP/2 with prior knowledge, to HTTP/1.1", plain.url("/to-http1"), "h2c", "1000", ""},
		{"HTTP/2 with prior knowledge, to HTTP/2", plain.url("/to-http2"), "h2c", "1000", ""},
		{"HTTP/1.1", plain.url("/to-http1"), "http/1.1", "1000", "--h1"},
		{"HTTP/2 by ALPN", "https://" + encrypted.address + "/to-http1", "h2", "1000", ""},
		{"HTTP/1.1 by ALPN", "https://" + encrypted.address + "/to-http1", "http/1.1", "1000", "--h1"},
		{"bodies over HTTP/2, to HTTP/1.1", plain.url("/to-http1"), "h2c", "500", "--data=" + body},
		{"bodies over HTTP/2, to HTTP/2", plain.url("/to-http2"), "h2c", "500", "--data=" + body},
		{"more at once than the upstream takes", plain.url("/to-few"), "h2c", "1000", ""},
	} {
		t.Run(run.name, func(t *testing.T) {
			arguments := []string{"-c", "50", "-m", "20", "-n", run.requests, "-H", "authorization: " + bearer, run.url}
			if run.option != "" {
				arguments = append([]string{run.option}, arguments...)
			}
			said, err := exec.Command("h2load", arguments...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			for _, line := range []string{
				`(?m)^Application protocol: ` + run.protocol + `$`,
				`(?m)^requests: ` + run.requests + ` total, .* ` + run.requests + ` succeeded, 0 failed, 0 errored, 0 timeout$`,
				`(?m)^status codes: ` + run.requests + ` 2xx, 0 3xx, 0 4xx, 0 5xx$`,
			} {
				if !regexp.MustCompile(line).Match(said) {
					t.Fatalf("no %s in %s", line, said)
				}
			}
		})
	}
}

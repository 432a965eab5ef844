package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	slowClients = 100
	// eachReader and eachReaderHTTP2 are the most that somebody who does not read may cost the gateway: over HTTP/2 there is what a stream keeps
	// beside what its connection keeps.
	eachReader, eachReaderHTTP2 = 5 * mib / 4, 2 * mib
	// eachWriter is the most that somebody may cost it who hardly sends.
	eachWriter = 256 * kib
	// slowBody is what such a one sends: three seconds' worth.
	slowBody = 3000
)

// Clients that read a large body at 1 KB a second hold up nobody but themselves, and nothing piles up for them.
func TestSlowReaders(t *testing.T) {
	for _, client := range []struct {
		name  string
		asks  []byte
		bound int
	}{
		{"HTTP/1.1", fmt.Appendf(nil, "GET /large HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\n\r\n", bearer), eachReader},
		{"HTTP/2", permissive(t, "/large"), eachReaderHTTP2},
	} {
		for _, protocol := range []string{"http1", "http2"} {
			t.Run("over "+client.name+", from an upstream over "+protocol, func(t *testing.T) {
				var sent atomic.Int64
				gateway := startGateway(t, routesTo(upstream(t, endless(&sent)), ", protocol: "+protocol))
				quick := http1(t)
				for range 100 {
					greet(t, quick, gateway)
				}
				var slowest time.Duration
				grown := gateway.grown(t, func() {
					reading, stop := context.WithCancel(t.Context())
					defer stop()
					for range slowClients {
						go readSlowly(reading, t, gateway, client.asks)
					}
					// What the kernel keeps for each of them is filled first, at the pace of this machine.
					settle(&sent)
					for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
						slowest = max(slowest, greet(t, quick, gateway))
					}
				})
				t.Logf("%d readers at 1 KB/s: %.0f KiB each, and %d MiB were taken from the upstream; others waited %v at most", slowClients, float64(grown)/kib/slowClients, sent.Load()/mib, slowest)
				if sent.Load() < slowClients*64*kib {
					t.Errorf("no more than %d KiB were asked for", sent.Load()/kib)
				}
				if grown > slowClients*client.bound {
					t.Errorf("%d MiB more memory", grown/mib)
				}
			})
		}
	}
}

// Streams that nobody reads do not hold up the others of their connection, and nothing piles up for them.
func TestSlowStreams(t *testing.T) {
	var sent atomic.Int64
	gateway := startGateway(t, routesTo(upstream(t, endless(&sent)), ", protocol: http2"))
	client := http2(t)
	for range 100 {
		greet(t, client, gateway)
	}
	grown := gateway.grown(t, func() {
		for range 5 {
			unread, err := client.Get(gateway.url("/large"))
			must(t, err)
			t.Cleanup(func() { unread.Body.Close() })
		}
		for range 50 {
			greet(t, client, gateway)
		}
		settle(&sent)
	})
	t.Logf("%.1f MiB more memory", float64(grown)/mib)
	if grown > flat {
		t.Errorf("%d MiB more memory", grown/mib)
	}
}

// Clients that send a body at 1 KB a second, each on a connection of its own over HTTP/2, hold up nobody, cost little and get their answers.
func TestSlowWriters(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			takeAndGive(answer, request)
			return
		}
		fmt.Fprint(answer, "hello")
	})
	for _, protocol := range []string{"http1", "http2"} {
		t.Run("to an upstream over "+protocol, func(t *testing.T) {
			gateway := startGateway(t, routesTo(backend, ", protocol: "+protocol))
			quick := http1(t)
			for range 100 {
				greet(t, quick, gateway)
			}
			var slowest time.Duration
			grown := gateway.grown(t, func() {
				var writing sync.WaitGroup
				for range slowClients {
					client := http2(t)
					writing.Go(func() { writeSlowly(t, client, gateway.url("/")) })
				}
				written := make(chan struct{})
				go func() {
					defer close(written)
					writing.Wait()
				}()
				for under := true; under; {
					select {
					case <-written:
						under = false
					default:
						slowest = max(slowest, greet(t, quick, gateway))
					}
				}
			})
			t.Logf("%d writers at 1 KB/s: %.0f KiB each; others waited %v at most", slowClients, float64(grown)/kib/slowClients, slowest)
			if grown > slowClients*eachWriter {
				t.Errorf("%d MiB more memory", grown/mib)
			}
		})
	}
}

// Uploads that their upstream does not read do not hold up the others of their connection, and nothing piles up of them.
func TestSlowUploads(t *testing.T) {
	stuck := make(chan struct{})
	backend := upstream(t, func(answer http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/stuck" {
			<-stuck
			return
		}
		takeAndGive(answer, request)
	})
	gateway := startGateway(t, routesTo(backend, ""))
	client := http2(t)
	up(t, client, gateway.url("/"), 100_000, false)
	defer close(stuck)
	grown := gateway.grown(t, func() {
		for range 3 {
			go func() {
				answer, err := client.Post(gateway.url("/stuck"), "text/plain", newContent(large))
				if err == nil {
					answer.Body.Close()
				}
			}()
		}
		time.Sleep(time.Second)
		for range 5 {
			began := time.Now()
			up(t, client, gateway.url("/"), 100_000, false)
			if took := time.Since(began); took > 5*time.Second {
				t.Fatalf("another upload took %v", took)
			}
		}
	})
	t.Logf("%.1f MiB more memory", float64(grown)/mib)
	if grown > flat {
		t.Errorf("%d MiB more memory", grown/mib)
	}
}

// A head must come in time, whatever its pace: the first of a connection, and each after it.
func TestSlowHeads(t *testing.T) {
	t.Parallel()
	backend := upstream(t, func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "hello") })
	gateway := startGateway(t, routesTo(backend, ""))
	const head = "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "
	for _, one := range []struct {
		name, begins string
		bound        time.Duration
	}{
		{"nothing at all", "", firstWithin},
		{"byte by byte", head, firstWithin},
		{"the preface of HTTP/2 and no request", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", firstWithin},
		{"byte by byte after another request", "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + head, firstWithin},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			connection, err := net.Dial("tcp", gateway.address)
			must(t, err)
			defer connection.Close()
			began := time.Now()
			if _, err := io.WriteString(connection, one.begins); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(one.begins, head) {
				go func() {
					for {
						time.Sleep(200 * time.Millisecond)
						if _, err := io.WriteString(connection, "x"); err != nil {
							return
						}
					}
				}()
			}
			must(t, connection.SetReadDeadline(began.Add(one.bound+sweeping)))
			said, err := io.ReadAll(connection)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("still open after %v", time.Since(began))
			}
			if took := time.Since(began); took < one.bound-5*time.Second {
				t.Fatalf("ended after %v: %q", took, said)
			}
			if strings.HasSuffix(one.begins, head) && !strings.Contains(string(said), "HTTP/1.1 408 ") {
				t.Fatalf("a head that is late: %q", said)
			}
		})
	}
}

// A body must come in time: no longer without a byte than the upstream waits, and all of it before the route's end.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	backend := upstream(t, takeAndGive)
	routes := fmt.Sprintf(`
upstreams:
  backend: {servers: ["%s"], timeouts: {idle: 3s}}
routes:
  - {name: endless, match: {prefix: /endless}, upstream: backend}
  - {name: bounded, match: {prefix: /bounded}, upstream: backend, timeout: 2s}
`, backend)
	gateway := startGateway(t, routes)
	for _, one := range []struct {
		name, path, framing, part string
		pause                     time.Duration
		status                    int
		least                     time.Duration
	}{
		{"that stops is 408", "/endless", "Content-Length: 1000", "x", time.Hour, http.StatusRequestTimeout, 3 * time.Second},
		{"in chunks that stops is 408", "/endless", "Transfer-Encoding: chunked", "1\r\nx\r\n", time.Hour, http.StatusRequestTimeout, 3 * time.Second},
		{"that drips is ended by the route", "/bounded", "Content-Length: 1000", "x", 200 * time.Millisecond, http.StatusRequestTimeout, 2 * time.Second},
		{"that drips on is waited for", "/endless", "Content-Length: 30", "x", 200 * time.Millisecond, http.StatusOK, 5 * time.Second},
	} {
		t.Run("a body "+one.name, func(t *testing.T) {
			connection := dial(t, gateway)
			began := time.Now()
			fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\n%s\r\n\r\n", one.path, bearer, one.framing)
			done := make(chan struct{})
			defer close(done)
			go func() {
				for {
					if _, err := io.WriteString(connection, one.part); err != nil {
						return
					}
					select {
					case <-done:
						return
					case <-time.After(one.pause):
					}
				}
			}()
			answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
			must(t, err)
			took := time.Since(began)
			if answer.StatusCode != one.status || took < one.least || took > one.least+busy {
				t.Fatalf("%d after %v", answer.StatusCode, took)
			}
		})
	}
}

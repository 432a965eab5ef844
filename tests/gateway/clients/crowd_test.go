package clients

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	crowd = 10_000
	// each is the most that an idle connection may cost the gateway.
	each = 64 * kib
	// How long a connection may be idle here, and how long its first request may take (as shipped), with the time between two sweeps, and what a busy machine adds to it.
	idleFor, firstWithin = 30 * time.Second, 10 * time.Second
	sweeping             = 15 * time.Second
)

// Ten thousand connections on which nothing happens.
func TestCrowd(t *testing.T) {
	t.Parallel()
	var files syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	if files.Cur < crowd+500 {
		t.Fatalf("a process may have %d open files here, which is too few (ulimit -Hn)", files.Cur)
	}
	backend := upstream(t, func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "hello") })
	gateway := startGateway(t, routesTo(backend, ""), "serve.gateway.max_connections=12000", fmt.Sprintf("serve.gateway.timeouts.idle=%v", idleFor))
	others := http1(t)
	serve := func() time.Duration {
		began := time.Now()
		answer, err := others.Get(gateway.url("/"))
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("answered with %d", answer.StatusCode)
		}
		return time.Since(began)
	}
	for range 500 {
		serve()
	}
	before := gateway.memory(t, "VmRSS")
	began := time.Now()
	idle := make([]net.Conn, crowd)
	var group sync.WaitGroup
	for part := range slices.Chunk(idle, crowd/20) {
		group.Go(func() {
			for place := range part {
				part[place] = askAndStay(t, gateway, nil)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	opening := time.Since(began)
	cost := (gateway.memory(t, "VmRSS") - before) / crowd
	t.Logf("%d idle connections, opened in %v: %.1f KiB each", crowd, opening, float64(cost)/kib)
	if cost > each {
		t.Errorf("%d bytes for each connection", cost)
	}
	took := make([]time.Duration, 500)
	for place := range took {
		took[place] = serve()
	}
	slices.Sort(took)
	t.Logf("meanwhile requests took %v, at most %v", took[len(took)/2], took[len(took)-1])
	ended := endings(idle, began)
	if first, last := ended[0], ended[len(ended)-1]; first < idleFor || last > opening+idleFor+sweeping {
		t.Errorf("closed between %v and %v, not after %v", first, last, idleFor)
	}
	serve()
}

// The same with TLS, of a smaller crowd.
func TestCrowdOverTls(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "hello") })
	authority := newAuthority(t)
	gateway := startGateway(t, routesTo(backend, ""), authority.certify(t, "localhost").settings()...)
	secure := &tls.Config{RootCAs: authority.pool(), ServerName: "localhost"}
	for range 50 {
		askAndStay(t, gateway, secure).Close()
	}
	before := gateway.memory(t, "VmRSS")
	idle := make([]net.Conn, crowd/10)
	for place := range idle {
		idle[place] = askAndStay(t, gateway, secure)
		defer idle[place].Close()
	}
	cost := (gateway.memory(t, "VmRSS") - before) / len(idle)
	t.Logf("%d idle connections over TLS: %.1f KiB each", len(idle), float64(cost)/kib)
	if cost > 2*each {
		t.Errorf("%d bytes for each connection", cost)
	}
}

// askAndStay is a connection that had one request.
func askAndStay(t *testing.T, gateway *gateway, secure *tls.Config) net.Conn {
	connection, err := net.Dial("tcp", gateway.address)
	if err == nil && secure != nil {
		connection = tls.Client(connection, secure)
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	fmt.Fprintf(connection, "GET / HTTP/1.1\r\nhost: a\r\nauthorization: %s\r\n\r\n", bearer)
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer answer.Body.Close()
	if said, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || string(said) != "hello" {
		t.Errorf("%d %s: %v", answer.StatusCode, said, err)
	}
	return connection
}

// endings is when each connection was closed by the other side, since then, in order.
func endings(connections []net.Conn, since time.Time) []time.Duration {
	ended := make([]time.Duration, len(connections))
	var group sync.WaitGroup
	for place, connection := range connections {
		group.Go(func() {
			defer connection.Close()
			_ = connection.SetReadDeadline(since.Add(idleFor + longest))
			_, _ = connection.Read(make([]byte, 1))
			ended[place] = time.Since(since)
		})
	}
	group.Wait()
	slices.Sort(ended)
	return ended
}

// A connection over the limit waits for its turn.
func TestCrowdBeyondTheLimit(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "hello") })
	gateway := startGateway(t, routesTo(backend, ""), "serve.gateway.max_connections=3", "gateway.threads=1")
	var inside []net.Conn
	for range 3 {
		inside = append(inside, askAndStay(t, gateway, nil))
	}
	waiting := dial(t, gateway)
	fmt.Fprintf(waiting, "GET / HTTP/1.1\r\nhost: a\r\nauthorization: %s\r\n\r\n", bearer)
	must(t, waiting.SetReadDeadline(time.Now().Add(500*time.Millisecond)))
	if read, err := waiting.Read(make([]byte, 1)); err == nil || read > 0 {
		t.Fatal("more connections than permitted are served")
	}
	inside[0].Close()
	must(t, waiting.SetReadDeadline(time.Now().Add(longest)))
	answer, err := http.ReadResponse(bufio.NewReader(waiting), nil)
	must(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("answered with %d", answer.StatusCode)
	}
}

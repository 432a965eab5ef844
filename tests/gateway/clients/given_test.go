// Package clients drives the gateway with real clients, and lives through bad days with it.
//
// The runner, tests/gateway/run, starts a server with a link. Each test has a gateway of its own, `sluice serve gateway`, a process
// that knows that link and a routes file. SLUICE_BIN names the program, SLUICE_LINK_URL and SLUICE_LINK_TOKEN the link, SLUICE_TOKEN
// is an access token of the server.
package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	// longest is more than anything here may take: a test that waits so long has failed.
	longest = 30 * time.Second
)

var bearer = "Bearer " + os.Getenv("SLUICE_TOKEN")

// As many files as this user may have open, here and in the gateways: a crowd needs them.
func TestMain(m *testing.M) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// gateway is a running `sluice serve gateway`.
type gateway struct {
	// address is where it listens, admin where its health and metrics are: host:port.
	address, admin string
	// file is its routes file.
	file    string
	process *os.Process
	log     *transcript
}

// startGateway starts one with these routes; settings are `key=value`.
func startGateway(t *testing.T, routes string, settings ...string) *gateway {
	t.Helper()
	gateway := &gateway{file: filepath.Join(t.TempDir(), "routes.yaml"), log: &transcript{}}
	gateway.write(t, routes)
	arguments := []string{"serve", "gateway"}
	own := []string{
		"gateway.routes=" + gateway.file,
		"gateway.access_log=off",
		"gateway.link.url=" + os.Getenv("SLUICE_LINK_URL"),
		"gateway.link.token=" + os.Getenv("SLUICE_LINK_TOKEN"),
		"serve.gateway.host=127.0.0.1",
		"serve.gateway.port=0",
		"serve.decisions.enabled=false",
		"serve.admin.host=127.0.0.1",
		"serve.admin.port=0",
		"log.format=json",
	}
	for _, setting := range append(own, settings...) {
		arguments = append(arguments, "--set", setting)
	}
	command := exec.Command(os.Getenv("SLUICE_BIN"), arguments...)
	command.Dir = t.TempDir()
	command.SysProcAttr = withThis()
	command.Stdout, command.Stderr = gateway.log, gateway.log
	must(t, command.Start())
	gateway.process = command.Process
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { gateway.stop(t, ended) })
	eventually(t, "the gateway listens", func() bool {
		gateway.address, gateway.admin = gateway.log.listener("gateway"), gateway.log.listener("health")
		return gateway.address != "" && gateway.admin != "" && gateway.isReady()
	})
	return gateway
}

// withThis ends a process with that of the tests.
func withThis() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

func (g *gateway) write(t *testing.T, routes string) {
	t.Helper()
	// As a whole, as an editor does.
	next := g.file + ".next"
	must(t, os.WriteFile(next, []byte(routes), 0o600))
	must(t, os.Rename(next, g.file))
}

func (g *gateway) isReady() bool {
	answer, err := http.Get("http://" + g.admin + "/health/ready")
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (g *gateway) stop(t *testing.T, ended chan error) {
	_ = g.process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
		_ = g.process.Kill()
		<-ended
	}
	said := g.log.String()
	if strings.Contains(said, "panicked") {
		t.Error("the gateway panicked")
	}
	if t.Failed() {
		t.Logf("the last of what the gateway said:\n%s", said[max(0, len(said)-4000):])
	}
}

func (g *gateway) url(path string) string {
	return "http://" + g.address + path
}

// memory is what the gateway's process has in memory now (VmRSS), or at most (VmHWM), in bytes.
func (g *gateway) memory(t *testing.T, field string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.process.Pid))
	must(t, err)
	found := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no %s in %s", field, status)
	}
	number, err := strconv.Atoi(string(found[1]))
	must(t, err)
	return number * kib
}

// grown is by how much the memory of the gateway was larger at any moment of `during` than before it.
func (g *gateway) grown(t *testing.T, during func()) int {
	t.Helper()
	must(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", g.process.Pid), []byte("5"), 0o200))
	before := g.memory(t, "VmRSS")
	during()
	return max(0, g.memory(t, "VmHWM")-before)
}

// metric is the value of a line of the gateway's metrics; 0 if there is none.
func (g *gateway) metric(t *testing.T, line string) float64 {
	t.Helper()
	answer, err := http.Get("http://" + g.admin + "/admin/metrics/prometheus")
	must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("no metrics: %d", answer.StatusCode)
	}
	var text bytes.Buffer
	_, err = text.ReadFrom(answer.Body)
	must(t, err)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(line) + ` (\S+)$`).FindStringSubmatch(text.String())
	if found == nil {
		return 0
	}
	value, err := strconv.ParseFloat(found[1], 64)
	must(t, err)
	return value
}

// transcript is what a program has said so far.
type transcript struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (l *transcript) Write(text []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(text)
}

func (l *transcript) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// listener is the address that a log says a listener has; empty if it does not yet.
func (l *transcript) listener(name string) string {
	for line := range strings.Lines(l.String()) {
		var event struct{ Message, Listener, Address string }
		if json.Unmarshal([]byte(line), &event) == nil && event.Message == "listening" && event.Listener == name {
			return event.Address
		}
	}
	return ""
}

// upstream serves `handler` over HTTP/1.1 and, for those who begin with it, HTTP/2; gives its URL.
func upstream(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := serving(handler)
	listener := listen(t)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

func serving(handler http.HandlerFunc) *http.Server {
	server := &http.Server{Handler: handler, Protocols: &http.Protocols{}, ErrorLog: quiet()}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// raw serves every connection with `script`, byte by byte; gives its URL. The connection is closed after it.
func raw(t *testing.T, script func(connection *net.TCPConn)) string {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer accepted.Close()
				script(accepted.(*net.TCPConn))
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// quiet is for servers whose clients are meant to fail.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener
}

// reserve is a socket and its address, which refuses connections until somebody listens there who was told of it: nobody else is given it.
func reserve(t *testing.T) (socket int, address string) {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { _ = syscall.Close(socket) })
	must(t, syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	must(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound, err := syscall.Getsockname(socket)
	must(t, err)
	return socket, fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
}

// routesTo is a routes file that leads everybody who has a token to `server`; options are those of the upstream (`, retries: 0`).
func routesTo(server, options string) string {
	const text = `
upstreams:
  backend: {servers: ["%s"]%s}
routes:
  - {name: all, match: {prefix: /}, upstream: backend}
`
	return fmt.Sprintf(text, server, options)
}

// authorized sends the token with each request.
type authorized struct{ *http.Transport }

func (a authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", bearer)
	return a.Transport.RoundTrip(request)
}

// http1 and http2 are clients that have a token and speak that version.
func http1(t *testing.T) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: authorized{transport}}
}

func http2(t *testing.T) *http.Client {
	client := http1(t)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	client.Transport.(authorized).Protocols = protocols
	return client
}

// dial connects to the gateway; reads and writes fail after `longest`.
func dial(t *testing.T, gateway *gateway) *net.TCPConn {
	t.Helper()
	connection, err := net.Dial("tcp", gateway.address)
	must(t, err)
	t.Cleanup(func() { connection.Close() })
	must(t, connection.SetDeadline(time.Now().Add(longest)))
	return connection.(*net.TCPConn)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(longest); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

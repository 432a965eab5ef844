package clients

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// calm is how long nothing is done to upstreams between two things that are.
const calm = 300 * time.Millisecond

// Upstreams are restarted under load, and no request that may be repeated fails.
func TestRestart(t *testing.T) {
	const two = `
upstreams:
  backend:
    servers: ["http://%s", "http://%s"]
    protocol: %s
    health: {path: /, interval: 200ms, timeout: 100ms}
routes:
  - {name: all, match: {prefix: /}, upstream: backend}
`
	for _, protocol := range []string{"http1", "http2"} {
		t.Run("two upstreams over "+protocol+" are restarted one after the other", func(t *testing.T) {
			servers := []*nginx{newNginx(t, protocol), newNginx(t, protocol)}
			gateway := startGateway(t, fmt.Sprintf(two, servers[0].address, servers[1].address, protocol))
			underLoad(t, gateway, func() {
				for _, server := range servers {
					time.Sleep(calm)
					server.end(t, syscall.SIGTERM)
					time.Sleep(calm)
					server.begin(t)
					time.Sleep(calm)
				}
			})
		})
		t.Run("two upstreams over "+protocol+" are cut off in the middle of their work", func(t *testing.T) {
			servers := []*fragile{newFragile(t), newFragile(t)}
			gateway := startGateway(t, fmt.Sprintf(two, servers[0].address, servers[1].address, protocol))
			again := underLoad(t, gateway, func() {
				for _, server := range servers {
					time.Sleep(calm)
					server.end()
					time.Sleep(calm)
					server.begin(t)
					time.Sleep(calm)
				}
			})
			if again == 0 {
				t.Error("nothing was cut off")
			}
		})
		t.Run("one upstream over "+protocol+" hands over to its successor", func(t *testing.T) {
			server := newNginx(t, protocol)
			gateway := startGateway(t, routesTo("http://"+server.address, ", protocol: "+protocol))
			underLoad(t, gateway, func() {
				for range 3 {
					time.Sleep(calm)
					before := *server
					server.begin(t)
					before.end(t, syscall.SIGQUIT)
				}
				time.Sleep(calm)
			})
		})
	}
}

// underLoad asks for something all the time while something is done; every answer must be 200. Gives how often
// a request was sent anew.
func underLoad(t *testing.T, gateway *gateway, something func()) float64 {
	t.Helper()
	var group sync.WaitGroup
	var done atomic.Bool
	var answered, failed atomic.Int64
	for number := range 16 {
		group.Go(func() {
			client := http1(t)
			if number%2 == 0 {
				client = http2(t)
			}
			for !done.Load() {
				answered.Add(1)
				if err := isFine(client, gateway.url("/")); err != nil && failed.Add(1) <= 5 {
					t.Error(err)
				}
			}
		})
	}
	something()
	done.Store(true)
	group.Wait()
	again := gateway.metric(t, `sluice_gateway_retries_total{route="all"}`)
	t.Logf("%d requests, %d failed, %v were sent anew", answered.Load(), failed.Load(), again)
	if answered.Load() < 200 {
		t.Error("that is no load")
	}
	return again
}

func isFine(client *http.Client, url string) error {
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s: %w", answer.StatusCode, body, err)
	}
	return nil
}

// fragile is an upstream that takes its time, and drops everything when it ends.
type fragile struct {
	address string
	server  *http.Server
}

func newFragile(t *testing.T) *fragile {
	t.Helper()
	_, address := reserve(t)
	fragile := &fragile{address: address}
	fragile.begin(t)
	t.Cleanup(fragile.end)
	return fragile
}

func (f *fragile) begin(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", f.address)
	must(t, err)
	f.server = serving(func(answer http.ResponseWriter, request *http.Request) {
		select {
		case <-request.Context().Done():
			panic(http.ErrAbortHandler)
		case <-time.After(20 * time.Millisecond):
			fmt.Fprint(answer, "hello")
		}
	})
	server := f.server
	go func() { _ = server.Serve(listener) }()
}

func (f *fragile) end() { _ = f.server.Close() }

// nginx is one that is started again and again on the same address.
type nginx struct {
	address, folder string
	process         *exec.Cmd
}

func newNginx(t *testing.T, protocol string) *nginx {
	t.Helper()
	_, address := reserve(t)
	server := &nginx{address: address, folder: t.TempDir()}
	options := map[string]string{"http1": "reuseport", "http2": "reuseport http2"}[protocol]
	text := "daemon off; pid nginx.pid; error_log stderr; worker_processes 1; events {} http { access_log off;"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		text += fmt.Sprintf(" %[1]s_temp_path %[1]s;", kind)
	}
	text += fmt.Sprintf(" server { listen %s %s; location / { return 200 \"hello\\n\"; } } }\n", server.address, options)
	must(t, os.WriteFile(filepath.Join(server.folder, "nginx.conf"), []byte(text), 0o600))
	server.begin(t)
	return server
}

// begin starts a process, beside the one that there may be.
func (n *nginx) begin(t *testing.T) {
	t.Helper()
	program := os.Getenv("NGINX")
	if program == "" {
		program = "/usr/sbin/nginx"
	}
	said := &transcript{}
	n.process = exec.Command(program, "-p", n.folder, "-c", filepath.Join(n.folder, "nginx.conf"), "-e", "stderr")
	n.process.Stderr = said
	n.process.SysProcAttr = withThis()
	must(t, n.process.Start())
	process := n.process.Process
	t.Cleanup(func() { _ = process.Signal(syscall.SIGTERM) })
	eventually(t, "nginx listens", func() bool {
		connection, err := net.Dial("tcp", n.address)
		if err != nil {
			return false
		}
		connection.Close()
		return isListening(process.Pid)
	})
	if t.Failed() {
		t.Log(said)
	}
}

// isListening is whether a master has a worker, which it has when it listens.
func isListening(pid int) bool {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	return err == nil && len(children) > 0
}

func (n *nginx) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	must(t, n.process.Process.Signal(signal))
	_ = n.process.Wait()
}

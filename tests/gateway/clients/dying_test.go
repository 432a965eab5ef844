package clients

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Upstreams that die in the middle of an answer: nobody may take what came for all of it.
func TestDyingInTheMiddle(t *testing.T) {
	half := strings.Repeat("x", 50_000)
	answers := []struct{ name, text string }{
		{"half of a length", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + half},
		{"none of a length", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"},
		{"all but a byte of a length", "HTTP/1.1 200 OK\r\nContent-Length: 50001\r\n\r\n" + half},
		{"half of its chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc350\r\n" + half + "\r\n"},
		{"half of a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" + half},
		{"all of its chunks but the end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc350\r\n" + half + "\r\n0\r\n"},
		{"a chunk that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc350\r\n" + half + "\r\nbanana\r\n"},
	}
	for _, reset := range []bool{false, true} {
		ending := map[bool]string{false: "ends", true: "is reset"}[reset]
		for _, answer := range answers {
			t.Run(fmt.Sprintf("after %s the connection %s", answer.name, ending), func(t *testing.T) {
				t.Parallel()
				backend := raw(t, saying(answer.text, reset))
				gateway := startGateway(t, routesTo(backend, ""))
				for name, client := range map[string]*http.Client{"HTTP/1.1": http1(t), "HTTP/2": http2(t)} {
					answered, err := client.Get(gateway.url("/"))
					if err != nil {
						continue // Not even a head: nothing to be mistaken for an answer.
					}
					body, err := io.ReadAll(answered.Body)
					answered.Body.Close()
					if err == nil && answered.StatusCode == http.StatusOK {
						t.Errorf("over %s: %d bytes that seem to be all", name, len(body))
					}
				}
				isBroken(t, gateway)
			})
		}
	}
}

// isBroken looks at the bytes of HTTP/1.1: whoever reads them must miss something.
func isBroken(t *testing.T, gateway *gateway) {
	t.Helper()
	connection := dial(t, gateway)
	fmt.Fprintf(connection, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\n\r\n", bearer)
	came, _ := io.ReadAll(connection)
	if len(came) == 0 {
		return
	}
	head, body, _ := strings.Cut(string(came), "\r\n\r\n")
	switch lower := strings.ToLower(head); {
	case !strings.HasPrefix(lower, "http/1.1 200"):
	case strings.Contains(lower, "transfer-encoding: chunked"):
		if strings.HasSuffix(body, "0\r\n\r\n") {
			t.Error("the chunks have an end")
		}
	case !strings.Contains(lower, "content-length:"):
		t.Errorf("neither length nor chunks: %s", head)
	default:
		if answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(came))), nil); err == nil {
			if all, err := io.ReadAll(answer.Body); err == nil {
				t.Errorf("%d bytes are all of it", len(all))
			}
		}
	}
}

// saying reads the head of a request and answers with text, whatever it is.
func saying(text string, reset bool) func(*net.TCPConn) {
	return func(connection *net.TCPConn) {
		if _, err := http.ReadRequest(bufio.NewReader(connection)); err != nil {
			return
		}
		_, _ = io.WriteString(connection, text)
		if reset {
			// What was said is to arrive before the reset does.
			time.Sleep(50 * time.Millisecond)
			_ = connection.SetLinger(0)
		}
	}
}

// A stream of HTTP/2 that the upstream resets is no complete answer either.
func TestDyingStreams(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/length" {
			answer.Header().Set("Content-Length", "100000")
		}
		_, _ = answer.Write(make([]byte, 50_000))
		answer.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	gateway := startGateway(t, routesTo(backend, ", protocol: http2"))
	for name, client := range map[string]*http.Client{"HTTP/1.1": http1(t), "HTTP/2": http2(t)} {
		for _, path := range []string{"/length", "/open"} {
			t.Run(name+path, func(t *testing.T) {
				answer, err := client.Get(gateway.url(path))
				must(t, err)
				defer answer.Body.Close()
				if body, err := io.ReadAll(answer.Body); err == nil {
					t.Fatalf("%d bytes that seem to be all", len(body))
				}
			})
		}
	}
}

// Upstreams that say what is no answer.
func TestDyingWords(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                       "",
		"words":                         "banana\r\n\r\n",
		"the beginning of a head":       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
		"a head without a status":       "HTTP/1.1 OK\r\n\r\n",
		"a status that is no number":    "HTTP/1.1 abc OK\r\n\r\n",
		"another protocol":              "SSH-2.0-OpenSSH_9.6\r\n",
		"TLS":                           "\x15\x03\x01\x00\x02\x02\x46",
		"zeros":                         strings.Repeat("\x00", 1000),
		"two lengths":                   "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
		"a length that is none":         "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
		"a name with a space":           "HTTP/1.1 200 OK\r\nX Y: z\r\nContent-Length: 2\r\n\r\nok",
		"a value with a NUL":            "HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 2\r\n\r\nok",
		"a head without end":            "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Long: "+strings.Repeat("x", 1000)+"\r\n", 2000),
		"an upgrade that nobody wanted": "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
		"an answer of HTTP/2":           "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
	} {
		t.Run(name+" is 502", func(t *testing.T) {
			t.Parallel()
			gateway := startGateway(t, routesTo(raw(t, saying(text, false)), ", timeouts: {first_byte: 5s}"))
			answer, err := http1(t).Post(gateway.url("/"), "text/plain", strings.NewReader("a body"))
			must(t, err)
			answer.Body.Close()
			if answer.StatusCode != http.StatusBadGateway {
				t.Fatalf("%d", answer.StatusCode)
			}
		})
	}
}

// Upstreams that cannot be reached, or say nothing.
func TestDyingSilence(t *testing.T) {
	t.Parallel()
	const patience = 700 * time.Millisecond
	silent := raw(t, func(connection *net.TCPConn) { _, _ = io.Copy(io.Discard, connection) })
	_, closed := reserve(t)
	for _, one := range []struct {
		name, server string
		status       int
		waits        bool
	}{
		{"never answers", silent, http.StatusGatewayTimeout, true},
		{"takes no connection", "http://" + full(t), http.StatusGatewayTimeout, true},
		{"is not there", "http://" + closed, http.StatusBadGateway, false},
		{"has no name", "http://nowhere.invalid", http.StatusBadGateway, false},
	} {
		for _, protocol := range []string{"http1", "http2"} {
			t.Run(fmt.Sprintf("an upstream over %s that %s gives %d", protocol, one.name, one.status), func(t *testing.T) {
				patience := patience
				if !one.waits {
					// Whoever looks names up may take their time to say that there is none.
					patience = 20 * time.Second
				}
				options := fmt.Sprintf(", protocol: %s, retries: 0, timeouts: {connect: %[2]s, first_byte: %[2]s}", protocol, patience)
				gateway := startGateway(t, routesTo(one.server, options))
				began := time.Now()
				answer, err := http1(t).Get(gateway.url("/"))
				must(t, err)
				answer.Body.Close()
				took := time.Since(began)
				if answer.StatusCode != one.status || took > patience+busy || one.waits && took < patience {
					t.Fatalf("%d after %v", answer.StatusCode, took)
				}
			})
		}
	}
}

// full is the address of a listener that the kernel lets nobody connect to any more.
func full(t *testing.T) string {
	t.Helper()
	socket, address := reserve(t)
	must(t, syscall.Listen(socket, 0))
	for range 16 {
		connection, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { connection.Close() })
	}
	t.Fatal("it takes connections")
	return ""
}

// An answer that comes before the end of the request counts.
func TestDyingEarly(t *testing.T) {
	const refusal = "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
	for name, after := range map[string]func(*net.TCPConn){
		"reads on":      func(connection *net.TCPConn) { _, _ = io.Copy(io.Discard, connection) },
		"reads no more": func(*net.TCPConn) { time.Sleep(time.Second) },
		"ends its side": func(connection *net.TCPConn) { _ = connection.CloseWrite(); time.Sleep(time.Second) },
	} {
		t.Run("and the upstream "+name, func(t *testing.T) {
			backend := raw(t, func(connection *net.TCPConn) {
				if _, err := http.ReadRequest(bufio.NewReader(connection)); err != nil {
					return
				}
				_, _ = io.WriteString(connection, refusal)
				after(connection)
			})
			gateway := startGateway(t, routesTo(backend, ""))
			client := http2(t)
			for range 5 {
				answer, err := client.Post(gateway.url("/"), "text/plain", newContent(100*mib))
				must(t, err)
				body, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				if answer.StatusCode != http.StatusRequestEntityTooLarge || err != nil || string(body) != "no" {
					t.Fatalf("%d %s: %v", answer.StatusCode, body, err)
				}
			}
		})
	}
}

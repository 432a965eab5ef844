package clients

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// busy is how much longer than it should anything may take: a machine that is kept busy here has little left for it.
const busy = 5 * time.Second

// endless is an upstream of more than anybody reads, which counts what was taken; elsewhere than at /large it says hello.
func endless(sent *atomic.Int64) http.HandlerFunc {
	return func(answer http.ResponseWriter, request *http.Request) {
		if request.URL.Path != "/large" {
			fmt.Fprint(answer, "hello")
			return
		}
		body := newContent(large)
		for part := make([]byte, 64*kib); ; {
			read, err := body.Read(part)
			if err != nil {
				return
			}
			written, err := answer.Write(part[:read])
			sent.Add(int64(written))
			if err != nil {
				return
			}
		}
	}
}

// settle waits until nothing more is taken.
func settle(sent *atomic.Int64) {
	for before := int64(-1); sent.Load() > before; time.Sleep(300 * time.Millisecond) {
		before = sent.Load()
	}
}

// greet asks for a small answer, which must come before long, and is how long that took.
func greet(t *testing.T, client *http.Client, gateway *gateway) time.Duration {
	t.Helper()
	began := time.Now()
	soon, cancel := context.WithTimeout(t.Context(), busy)
	defer cancel()
	request, err := http.NewRequestWithContext(soon, http.MethodGet, gateway.url("/small"), nil)
	must(t, err)
	answer, err := client.Do(request)
	must(t, err)
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "hello" {
		t.Fatalf("%s: %v", body, err)
	}
	return time.Since(began)
}

// readSlowly sends what a client asks, and reads 1 KB a second of what comes.
func readSlowly(reading context.Context, t *testing.T, gateway *gateway, asks []byte) {
	connection, err := net.Dial("tcp", gateway.address)
	if err != nil {
		t.Error(err)
		return
	}
	defer connection.Close()
	_ = connection.(*net.TCPConn).SetReadBuffer(4 * kib)
	if _, err := connection.Write(asks); err != nil {
		t.Error(err)
		return
	}
	for part := make([]byte, 100); ; {
		select {
		case <-reading.Done():
			return
		case <-time.After(100 * time.Millisecond):
			if _, err := connection.Read(part); err != nil {
				t.Errorf("a slow reader was cut: %v", err)
				return
			}
		}
	}
}

// writeSlowly sends a body at that pace, and expects to be told what it was.
func writeSlowly(t *testing.T, client *http.Client, url string) {
	answer, err := client.Post(url, "text/plain", slowly{newContent(slowBody)})
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if wanted := fmt.Sprintf("%d %s", slowBody, digestOf(slowBody)); err != nil || string(said) != wanted {
		t.Errorf("a slow writer was told %d %s, not %s: %v", answer.StatusCode, said, wanted, err)
	}
}

// slowly gives 1 KB a second of a body.
type slowly struct{ body io.Reader }

func (s slowly) Read(into []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return s.body.Read(into[:min(len(into), 100)])
}

package clients

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Server-sent events reach their client one by one: none is sent before the one before it has arrived.
func TestEvents(t *testing.T) {
	for name, listen := range map[string]func(ctx context.Context, t *testing.T, url string) io.Reader{
		"Go over HTTP/1.1":   listenWith(http1),
		"Go over HTTP/2":     listenWith(http2),
		"curl over HTTP/1.1": listenWithCurl("--http1.1"),
		"curl over HTTP/2":   listenWithCurl("--http2-prior-knowledge"),
	} {
		for _, protocol := range []string{"http1", "http2"} {
			t.Run(name+", from an upstream over "+protocol, func(t *testing.T) {
				said := make(chan string)
				gateway := startGateway(t, routesTo(upstream(t, telling(said)), ", protocol: "+protocol))
				ctx, stop := context.WithTimeout(t.Context(), longest)
				defer stop()
				events := bufio.NewReader(listen(ctx, t, gateway.url("/")))
				for number := range 50 {
					event := fmt.Sprintf("event %d", number)
					select {
					case said <- event:
					case <-ctx.Done():
						t.Fatalf("%s is never asked for", event)
					}
					heard, err := nextEvent(events)
					if err != nil || heard != event {
						t.Fatalf("%q instead of %q: %v", heard, event, err)
					}
				}
				close(said)
				if heard, err := nextEvent(events); err != io.EOF || heard != "" {
					t.Fatalf("%q, and then %v instead of the end", heard, err)
				}
			})
		}
	}
}

// telling sends an event whenever something is to be said, and no other byte but the head, which goes out at once.
func telling(said <-chan string) http.HandlerFunc {
	return func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Content-Type", "text/event-stream")
		flusher := answer.(http.Flusher)
		flusher.Flush()
		for number := 0; ; number++ {
			select {
			case event, more := <-said:
				if !more {
					return
				}
				fmt.Fprintf(answer, "id: %d\ndata: %s\n\n", number, event)
				flusher.Flush()
			case <-request.Context().Done():
				return
			case <-time.After(longest):
				return
			}
		}
	}
}

func listenWith(speaking func(*testing.T) *http.Client) func(context.Context, *testing.T, string) io.Reader {
	return func(ctx context.Context, t *testing.T, url string) io.Reader {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		must(t, err)
		request.Header.Set("Accept", "text/event-stream")
		answer, err := speaking(t).Do(request)
		must(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
			t.Fatalf("%d, %q", answer.StatusCode, kind)
		}
		return answer.Body
	}
}

func listenWithCurl(version string) func(context.Context, *testing.T, string) io.Reader {
	return func(ctx context.Context, t *testing.T, url string) io.Reader {
		t.Helper()
		command := exec.CommandContext(ctx, "curl", "-sSfN", version, "-H", "Accept: text/event-stream", "-H", "Authorization: "+bearer, url)
		output, err := command.StdoutPipe()
		must(t, err)
		must(t, command.Start())
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
		return output
	}
}

// nextEvent is what the next event says.
func nextEvent(lines *bufio.Reader) (string, error) {
	said := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return said, err
		}
		if line == "\n" {
			return said, nil
		}
		if data, is := strings.CutPrefix(line, "data: "); is {
			said += strings.TrimSuffix(data, "\n")
		}
	}
}

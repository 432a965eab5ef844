package clients

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	frames "golang.org/x/net/http2"
)

// Clients that keep HTTP/2 busy with what costs them little: they are ended or bear it alone.
func TestFlood(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/slow" {
			<-request.Context().Done()
			return
		}
		fmt.Fprint(answer, "hello")
	})
	gateway := startGateway(t, routesTo(backend, ""))
	others := http1(t)
	ask := func() error { return isFine(others, gateway.url("/")) }
	must(t, ask())
	stream := func(number uint32) uint32 { return 2*number + 1 }
	for name, frame := range map[string]func(framer *frames.Framer, number uint32) error{
		"requests that are taken back at once": func(framer *frames.Framer, number uint32) error {
			begin := frames.HeadersFrameParam{StreamID: stream(number), BlockFragment: head(t, "/slow"), EndHeaders: true, EndStream: true}
			if err := framer.WriteHeaders(begin); err != nil {
				return err
			}
			return framer.WriteRSTStream(stream(number), frames.ErrCodeCancel)
		},
		"requests beyond what is permitted at once": func(framer *frames.Framer, number uint32) error {
			return framer.WriteHeaders(frames.HeadersFrameParam{StreamID: stream(number), BlockFragment: head(t, "/slow"), EndHeaders: true, EndStream: true})
		},
		"a head without end": func(framer *frames.Framer, number uint32) error {
			if number == 0 {
				return framer.WriteHeaders(frames.HeadersFrameParam{StreamID: 1, BlockFragment: head(t, "/")})
			}
			return framer.WriteContinuation(1, false, []byte("\x00\x01x\x7f\x81\x07"+strings.Repeat("y", 262)))
		},
		"settings":       func(framer *frames.Framer, _ uint32) error { return framer.WriteSettings() },
		"pings":          func(framer *frames.Framer, _ uint32) error { return framer.WritePing(false, [8]byte{}) },
		"window updates": func(framer *frames.Framer, _ uint32) error { return framer.WriteWindowUpdate(0, 1) },
		"data without any": func(framer *frames.Framer, number uint32) error {
			if number == 0 {
				return framer.WriteHeaders(frames.HeadersFrameParam{StreamID: 1, BlockFragment: head(t, "/slow"), EndHeaders: true})
			}
			return framer.WriteData(1, false, nil)
		},
		"priorities": func(framer *frames.Framer, number uint32) error {
			return framer.WritePriority(stream(number), frames.PriorityParam{StreamDep: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			sent := uint32(0)
			var slowest time.Duration
			grown := gateway.grown(t, func() {
				connection := dial(t, gateway)
				defer connection.Close()
				_, err := io.WriteString(connection, frames.ClientPreface)
				must(t, err)
				must(t, connection.SetDeadline(time.Now().Add(2*time.Second)))
				framer := frames.NewFramer(connection, nil)
				must(t, framer.WriteSettings())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for frame(framer, sent) == nil {
						sent++
					}
				}()
				// Its answers are not read.
				for flooding := true; flooding; {
					select {
					case <-ended:
						flooding = false
					default:
						began := time.Now()
						must(t, ask())
						slowest = max(slowest, time.Since(began))
					}
				}
			})
			t.Logf("%d times: %.1f MiB more memory, others waited %v at most", sent, float64(grown)/mib, slowest)
			// What a machine can do that also floods is not much.
			if grown > flat || slowest > 5*time.Second {
				t.Errorf("%d MiB more memory, others waited %v", grown/mib, slowest)
			}
		})
	}
}

// Heads that are too large are refused as such.
func TestFloodOfHeaders(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "hello") })
	gateway := startGateway(t, routesTo(backend, ""))
	for name, client := range map[string]*http.Client{"HTTP/1.1": http1(t), "HTTP/2": http2(t)} {
		for what, headers := range map[string]http.Header{
			"one that is large": {"X-Large": {strings.Repeat("x", 200_000)}},
			"many":              {"X-Many": strings.Split(strings.Repeat("x,", 20_000), ",")},
		} {
			t.Run(what+" over "+name, func(t *testing.T) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gateway.url("/"), nil)
				must(t, err)
				request.Header = headers
				answer, err := client.Do(request)
				if err != nil {
					return // Its connection ended while it was sending.
				}
				answer.Body.Close()
				if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
					t.Fatalf("%d", answer.StatusCode)
				}
			})
		}
	}
	must(t, isFine(http1(t), gateway.url("/")))
}

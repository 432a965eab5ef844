package clients

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	frames "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
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

// Heads that are too large are refused as such. Over HTTP/2 a head of more frames than these would end the connection.
func TestFloodOfHeaders(t *testing.T) {
	backend := upstream(t, func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "hello") })
	gateway := startGateway(t, routesTo(backend, ""))
	for what, headers := range map[string][]string{
		"one that is large": {strings.Repeat("x", 100_000)},
		"many":              slices.Repeat([]string{"x"}, 20_000),
	} {
		t.Run(what+" over HTTP/1.1", func(t *testing.T) {
			connection := dial(t, gateway)
			head := "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: " + bearer + "\r\n"
			for _, header := range headers {
				head += "X-Large: " + header + "\r\n"
			}
			go func() {
				// Its end may never be read.
				_, _ = io.WriteString(connection, head+"\r\n")
			}()
			answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
			must(t, err)
			answer.Body.Close()
			if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Fatalf("%d", answer.StatusCode)
			}
		})
		t.Run(what+" over HTTP/2", func(t *testing.T) {
			// Fields that are a byte each there, and forty times as much when they are read, may end the connection.
			ends := len(headers) > 1
			if status := sendLargeHead(t, gateway, headers); status != "431" && !(ends && status == "ENHANCE_YOUR_CALM") {
				t.Fatal(status)
			}
		})
	}
	must(t, isFine(http1(t), gateway.url("/")))
}

// sendLargeHead sends a request with these headers over HTTP/2; gives the status, or how the stream or the connection ended.
func sendLargeHead(t *testing.T, gateway *gateway, headers []string) string {
	t.Helper()
	connection := dial(t, gateway)
	_, err := io.WriteString(connection, frames.ClientPreface)
	must(t, err)
	framer := frames.NewFramer(connection, connection)
	must(t, framer.WriteSettings())
	var block bytes.Buffer
	block.Write(head(t, "/"))
	encoder := hpack.NewEncoder(&block)
	for _, header := range headers {
		must(t, encoder.WriteField(hpack.HeaderField{Name: "x-large", Value: header}))
	}
	go func() {
		parts := slices.Collect(slices.Chunk(block.Bytes(), 16*kib))
		begin := frames.HeadersFrameParam{StreamID: 1, BlockFragment: parts[0], EndHeaders: len(parts) == 1, EndStream: true}
		err := framer.WriteHeaders(begin)
		for number := 1; number < len(parts) && err == nil; number++ {
			err = framer.WriteContinuation(1, number == len(parts)-1, parts[number])
		}
	}()
	decoder := hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		must(t, err)
		switch frame := frame.(type) {
		case *frames.HeadersFrame:
			found, err := decoder.DecodeFull(frame.HeaderBlockFragment())
			must(t, err)
			return found[0].Value
		case *frames.RSTStreamFrame:
			return frame.ErrCode.String()
		case *frames.GoAwayFrame:
			return frame.ErrCode.String()
		}
	}
}

package clients

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	frames "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

// caseName is a header that says of which case a request is: one that comes late is not to be taken for the next one's.
const caseName = "x-case"

// settled is how long an upstream waits for what may follow.
const settled = 40 * time.Millisecond

// Requests over HTTP/2 that would be other requests, or several, over HTTP/1.1. What counts is what the upstream gets.
func TestSmuggling(t *testing.T) {
	upstream := newRecorder(t)
	gateway := startGateway(t, routesTo(upstream.url, ", retries: 0, timeouts: {idle: 1s, first_byte: 2s}"))
	get := func(more ...string) []string {
		return append([]string{":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/", "authorization", bearer}, more...)
	}
	post := func(more ...string) []string {
		return append([]string{":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/", "authorization", bearer}, more...)
	}
	with := func(fields []string, name, value string) []string {
		changed := slices.Clone(fields)
		changed[slices.Index(changed, name)+1] = value
		return changed
	}
	without := func(fields []string, name string) []string {
		place := slices.Index(fields, name)
		return slices.Delete(slices.Clone(fields), place, place+2)
	}
	for _, one := range []struct {
		name   string
		fields []string
		body   string
		// passes: it may reach the upstream, as one request with this body. Else none may be complete there.
		passes bool
	}{
		{"a request", get(), "", true},
		{"a request with a body", post(), "hello", true},
		{"a request with a body and its length", post("content-length", "5"), "hello", true},
		{"a body that looks like a request", post(), smuggled, true},
		{"a body that looks like the end of chunks", post(), "0\r\n\r\n" + smuggled, true},
		{"te: trailers", get("te", "trailers"), "", true},
		{"a fragment, which goes no further", with(get(), ":path", "/#x"), "", true},
		{"a header with an underscore", get("transfer_encoding", "chunked"), "", true},

		{"more than the length says", post("content-length", "0"), smuggled, false},
		{"a little more than the length says", post("content-length", "5"), "hello" + smuggled, false},
		{"less than the length says", post("content-length", "500"), "hello", false},
		{"two lengths", post("content-length", "5", "content-length", "6"), "hello", false},
		{"a length with a sign", post("content-length", "+5"), "hello", false},
		{"a length of two", post("content-length", "5, 5"), "hello", false},
		{"a length beyond 64 bits", post("content-length", "99999999999999999999"), "hello", false},
		{"a length without a body", get("content-length", "5"), "", false},
		{"chunked", post("transfer-encoding", "chunked"), "0\r\n\r\n" + smuggled, false},
		{"chunked and a length", post("transfer-encoding", "chunked", "content-length", "39"), "0\r\n\r\n" + smuggled, false},
		{"identity", post("transfer-encoding", "identity"), "hello", false},
		{"a connection header", get("connection", "transfer-encoding"), "", false},
		{"keep-alive", get("keep-alive", "timeout=5"), "", false},
		{"proxy-connection", get("proxy-connection", "keep-alive"), "", false},
		{"an upgrade", get("upgrade", "websocket"), "", false},
		{"te that is not trailers", get("te", "chunked"), "", false},

		{"a line break in a value", get("x", "a\r\ntransfer-encoding: chunked"), "", false},
		{"a request in a value", get("x", "a\r\n\r\n"+smuggled), "", false},
		{"a LF in a value", get("x", "a\ntransfer-encoding: chunked"), "", false},
		{"a CR in a value", get("x", "a\rb"), "", false},
		{"a NUL in a value", get("x", "a\x00b"), "", false},
		{"a line break in a name", get("x: y\r\ntransfer-encoding", "chunked"), "", false},
		{"a colon in a name", get("transfer-encoding:", "chunked"), "", false},
		{"a space in a name", get("transfer-encoding ", "chunked"), "", false},
		{"capitals in a name", get("Transfer-Encoding", "chunked"), "", false},
		{"no name", get("", "chunked"), "", false},
		{"a request in the path", with(get(), ":path", "/ HTTP/1.1\r\nHost: a\r\n\r\n"+smuggled), "", false},
		{"a space in the path", with(get(), ":path", "/ HTTP/1.1"), "", false},
		{"a tab in the path", with(get(), ":path", "/\tHTTP/1.1"), "", false},
		{"no slash in the path", with(get(), ":path", "smuggled"), "", false},
		{"an empty path", with(get(), ":path", ""), "", false},
		{"another host in the path", with(get(), ":path", "http://b/"), "", false},
		{"a request in the method", with(get(), ":method", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET"), "", false},
		{"a space in the method", with(get(), ":method", "GET /smuggled HTTP/1.1"), "", false},
		{"a line break in the authority", with(get(), ":authority", "a\r\ntransfer-encoding: chunked"), "", false},
		{"a path in the authority", with(get(), ":authority", "a/smuggled"), "", false},
		{"a user in the authority", with(get(), ":authority", "b@a"), "", false},
		{"a line break in the scheme", with(get(), ":scheme", "http://a/ HTTP/1.1\r\nx: y\r\n\r\n"), "", false},
		{"another host", get("host", "b"), "", false},
		{"two authorities", get(":authority", "b"), "", false},
		{"two paths", append([]string{":path", "/smuggled"}, get()...), "", false},
		{"two methods", append([]string{":method", "POST"}, get()...), "", false},
		{"no method", without(get(), ":method"), "", false},
		{"no path", without(get(), ":path"), "", false},
		{"no authority and no host", without(get(), ":authority"), "", false},
		{"a status", get(":status", "200"), "", false},
		{"a pseudo-header of no standard", append([]string{":smuggled", "1"}, get()...), "", false},
		{"a pseudo-header after others", append(without(get(), ":path"), ":path", "/"), "", false},
		{"CONNECT", []string{":method", "CONNECT", ":authority", "a:80", "authorization", bearer}, smuggled, false},
		{"an extended CONNECT", with(get(":protocol", "websocket"), ":method", "CONNECT"), smuggled, false},
	} {
		t.Run(one.name, func(t *testing.T) {
			status := sendFrames(t, gateway, append(slices.Clone(one.fields), caseName, one.name), one.body)
			complete, bytes := upstream.taken(t, one.name, one.passes)
			switch {
			case one.passes && (status != "200" || len(complete) != 1 || complete[0].body != one.body):
				t.Fatalf("%s: %q", status, bytes)
			case !one.passes && (status == "200" || len(complete) > 0):
				t.Fatalf("%s: it reached the upstream: %q", status, bytes)
			}
			for _, request := range complete {
				if request.lengths+request.codings > 1 || request.target != "/" || request.followed != "" {
					t.Fatalf("ambiguous: %q", bytes)
				}
			}
		})
	}
}

// sendFrames sends a request as it is on a connection of its own; gives the status, or how the stream ended.
func sendFrames(t *testing.T, gateway *gateway, fields []string, body string) string {
	t.Helper()
	connection := dial(t, gateway)
	defer connection.Close()
	_, err := io.WriteString(connection, frames.ClientPreface)
	must(t, err)
	framer := frames.NewFramer(connection, connection)
	must(t, framer.WriteSettings(frames.Setting{ID: frames.SettingEnablePush, Val: 0}))
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for field := range slices.Chunk(fields, 2) {
		must(t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	must(t, framer.WriteHeaders(frames.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: body == ""}))
	if body != "" {
		// The other side may have ended it by now.
		_ = framer.WriteData(1, true, []byte(body))
	}
	decoder := hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err.Error()
		}
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

// recorder is an upstream that keeps every byte of every connection.
type recorder struct {
	url  string
	came chan recorded
}

type recorded struct {
	complete []request
	bytes    string
}

// request is a complete one, as a reader of HTTP/1.1 understands it.
type request struct {
	target, body     string
	lengths, codings int
	// of is its case; empty if it does not say, as what was smuggled.
	of string
	// followed is what came after it on its connection.
	followed string
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	recorder := &recorder{came: make(chan recorded, 16)}
	recorder.url = raw(t, func(connection *net.TCPConn) {
		var kept bytes.Buffer
		reader := bufio.NewReader(io.TeeReader(connection, &kept))
		var complete []request
		// One request to a connection, so that what comes after it is seen.
		if read, err := http.ReadRequest(reader); err == nil {
			body, err := io.ReadAll(read.Body)
			head, _, _ := strings.Cut(kept.String(), "\r\n\r\n")
			if err == nil {
				complete = append(complete, request{
					target:  read.RequestURI,
					body:    string(body),
					lengths: len(regexp.MustCompile(`(?im)^content-length:`).FindAllString(head, -1)),
					codings: len(regexp.MustCompile(`(?im)^transfer-encoding:`).FindAllString(head, -1)),
					of:      read.Header.Get(caseName),
				})
				_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
			}
		}
		_ = connection.SetReadDeadline(time.Now().Add(settled))
		after, _ := io.ReadAll(reader)
		if len(complete) > 0 {
			complete[0].followed = string(after)
		}
		recorder.came <- recorded{complete, kept.String()}
	})
	return recorder
}

// taken is what came of this case, or of none, since the last time; `waits` for a request of it.
func (r *recorder) taken(t *testing.T, name string, waits bool) (complete []request, bytes string) {
	t.Helper()
	for patience := 2 * settled; ; patience = 2 * settled {
		if waits {
			patience = longest
		}
		select {
		case one := <-r.came:
			if len(one.complete) > 0 && one.complete[0].of != "" && one.complete[0].of != name {
				t.Errorf("it came late, of %q: %q", one.complete[0].of, one.bytes)
				continue
			}
			waits = waits && len(one.complete) == 0
			complete = append(complete, one.complete...)
			bytes += one.bytes
		case <-time.After(patience):
			return complete, bytes
		}
	}
}

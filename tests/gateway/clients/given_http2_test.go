package clients

import (
	"bytes"
	"io"
	"math"
	"testing"

	frames "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// head is that of an authorized request over HTTP/2.
func head(t *testing.T, path string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", path}, {"authorization", bearer}} {
		must(t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	return block.Bytes()
}

// permissive is all that a client over HTTP/2 says that asks once, with windows as wide as they may be: nothing holds its answer back but how fast it
// reads.
func permissive(t *testing.T, path string) []byte {
	t.Helper()
	const widest, initial = math.MaxInt32, 65_535
	var said bytes.Buffer
	_, err := io.WriteString(&said, frames.ClientPreface)
	must(t, err)
	framer := frames.NewFramer(&said, nil)
	must(t, framer.WriteSettings(frames.Setting{ID: frames.SettingInitialWindowSize, Val: widest}))
	must(t, framer.WriteWindowUpdate(0, widest-initial))
	must(t, framer.WriteHeaders(frames.HeadersFrameParam{StreamID: 1, BlockFragment: head(t, path), EndHeaders: true, EndStream: true}))
	return said.Bytes()
}

package clients

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	large = 1_000_000_000
	// flat is how much more memory a gateway may have while a large body goes through it.
	flat = 32 * mib
)

// Bodies of every size, both ways, with a length and without, in flat memory.
func TestBodies(t *testing.T) {
	backend := upstream(t, takeAndGive)
	routes := fmt.Sprintf(`
upstreams:
  one: {servers: ["%[1]s"]}
  two: {servers: ["%[1]s"], protocol: http2}
routes:
  - {name: to-http1, match: {prefix: /to-http1}, upstream: one}
  - {name: to-http2, match: {prefix: /to-http2}, upstream: two}
`, backend)
	gateway := startGateway(t, routes)
	ways := []struct {
		name    string
		client  *http.Client
		path    string
		chunked []bool
	}{
		{"HTTP/1.1 to HTTP/1.1", http1(t), "/to-http1", []bool{false, true}},
		{"HTTP/2 to HTTP/1.1", http2(t), "/to-http1", []bool{true}},
		{"HTTP/1.1 to HTTP/2", http1(t), "/to-http2", []bool{true}},
		{"HTTP/2 to HTTP/2", http2(t), "/to-http2", []bool{true}},
	}
	for _, way := range ways {
		t.Run("small bodies from "+way.name, func(t *testing.T) {
			for _, size := range []int64{0, 1, 64 * kib} {
				for _, chunked := range []bool{false, true} {
					up(t, way.client, gateway.url(way.path), size, chunked)
					down(t, way.client, gateway.url(way.path), size, chunked)
				}
			}
		})
	}
	for _, way := range ways {
		for _, chunked := range way.chunked {
			for _, direction := range []struct {
				name  string
				carry carrier
			}{{"up", up}, {"down", down}} {
				framing := map[bool]string{false: "with a length", true: "without a length"}[chunked]
				t.Run(fmt.Sprintf("1 GB goes %s from %s %s", direction.name, way.name, framing), func(t *testing.T) {
					began := time.Now()
					grown := gateway.grown(t, func() { direction.carry(t, way.client, gateway.url(way.path), large, chunked) })
					t.Logf("in %.1f s, with %.1f MiB more memory", time.Since(began).Seconds(), float64(grown)/mib)
					if grown > flat {
						t.Errorf("%d MiB more memory", grown/mib)
					}
				})
			}
		}
	}
}

type carrier func(t *testing.T, client *http.Client, url string, size int64, chunked bool)

// up sends a body; the upstream says what it got.
func up(t *testing.T, client *http.Client, url string, size int64, chunked bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, newContent(size))
	must(t, err)
	request.ContentLength = size
	if chunked {
		request.ContentLength = -1
	} else if size == 0 {
		request.Body = http.NoBody
	}
	answer, err := client.Do(request)
	must(t, err)
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	must(t, err)
	if wanted := fmt.Sprintf("%d %s", size, digestOf(size)); answer.StatusCode != http.StatusOK || string(said) != wanted {
		t.Fatalf("%d bytes up: %d %s, not %s", size, answer.StatusCode, said, wanted)
	}
}

// down asks for a body.
func down(t *testing.T, client *http.Client, url string, size int64, chunked bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s?size=%d&chunked=%t", url, size, chunked), nil)
	must(t, err)
	answer, err := client.Do(request)
	must(t, err)
	defer answer.Body.Close()
	length, digest := measure(t, answer.Body)
	if answer.StatusCode != http.StatusOK || length != size || digest != digestOf(size) {
		t.Fatalf("%d bytes down: %d, %d bytes, %s", size, answer.StatusCode, length, digest)
	}
	if known := answer.ContentLength >= 0; size > 0 && known == chunked {
		t.Fatalf("%d bytes down: the length is said to be %d", size, answer.ContentLength)
	}
}

// takeAndGive is an upstream that says of a body what it was, and gives what it is asked for.
func takeAndGive(answer http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodPost {
		digest := sha256.New()
		length, err := io.Copy(digest, request.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(answer, "%d %s", length, hex.EncodeToString(digest.Sum(nil)))
		return
	}
	size, _ := strconv.ParseInt(request.FormValue("size"), 10, 64)
	if request.FormValue("chunked") != "true" {
		answer.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	answer.WriteHeader(http.StatusOK)
	answer.(http.Flusher).Flush()
	_, _ = io.Copy(answer, newContent(size))
}

func measure(t *testing.T, body io.Reader) (int64, string) {
	t.Helper()
	digest := sha256.New()
	length, err := io.CopyBuffer(digest, body, make([]byte, 256*kib))
	must(t, err)
	return length, hex.EncodeToString(digest.Sum(nil))
}

// content is a body that no piece of can be lost, doubled or moved without its digest changing.
type content struct {
	left  int64
	block []byte
	at    int
	count uint64
}

func newContent(size int64) *content {
	block := make([]byte, 64*kib)
	rand.New(rand.NewSource(1)).Read(block)
	return &content{left: size, block: block}
}

func (c *content) Read(into []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	copied := copy(into[:min(int64(len(into)), c.left)], c.block[c.at:])
	c.left -= int64(copied)
	if c.at += copied; c.at == len(c.block) {
		c.at = 0
		c.count++
		binary.LittleEndian.PutUint64(c.block, c.count)
	}
	return copied, nil
}

var digests sync.Map

// digestOf is what a body of this size must have, worked out once.
func digestOf(size int64) string {
	known, found := digests.Load(size)
	if !found {
		digest := sha256.New()
		_, _ = io.Copy(digest, newContent(size))
		known, _ = digests.LoadOrStore(size, hex.EncodeToString(digest.Sum(nil)))
	}
	return known.(string)
}

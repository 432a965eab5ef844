package clients

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// What a server of these tests does after it was told to.
const (
	sayEcho  = "echo"
	sayTell  = "tell"
	sayClose = "close"
	sayGone  = "gone"
)

// WebSocket, with somebody else's client and server.
func TestWebsocket(t *testing.T) {
	t.Parallel()
	heard := make(chan error, 8)
	backend := upstream(t, chat(heard))
	gateway := startGateway(t, routesTo(backend, ", timeouts: {idle: 2s}"))

	t.Run("messages of every size come back", func(t *testing.T) {
		socket := chatWith(t, gateway, sayEcho)
		for _, size := range []int{0, 1, 125, 126, 65_535, 65_536, mib} {
			message := make([]byte, size)
			_, _ = rand.Read(message)
			must(t, socket.WriteMessage(websocket.BinaryMessage, message))
			kind, echoed, err := socket.ReadMessage()
			must(t, err)
			if kind != websocket.BinaryMessage || !bytes.Equal(echoed, message) {
				t.Fatalf("%d bytes came back as %d", size, len(echoed))
			}
		}
		must(t, socket.WriteMessage(websocket.TextMessage, []byte("grüß dich")))
		kind, echoed, err := socket.ReadMessage()
		must(t, err)
		if kind != websocket.TextMessage || string(echoed) != "grüß dich" {
			t.Fatalf("%q", echoed)
		}
	})

	t.Run("a message in fragments that come slowly is one", func(t *testing.T) {
		socket := chatWith(t, gateway, sayEcho)
		writer, err := socket.NextWriter(websocket.TextMessage)
		must(t, err)
		for _, part := range []string{"one ", "two ", "three"} {
			_, err := io.WriteString(writer, strings.Repeat(part, 1000))
			must(t, err)
			time.Sleep(20 * time.Millisecond)
		}
		must(t, writer.Close())
		_, echoed, err := socket.ReadMessage()
		must(t, err)
		if len(echoed) != 13_000 {
			t.Fatalf("%d bytes came back", len(echoed))
		}
	})

	t.Run("a ping is answered by the other side", func(t *testing.T) {
		socket := chatWith(t, gateway, sayEcho)
		pongs := make(chan string, 1)
		socket.SetPongHandler(func(said string) error {
			pongs <- said
			return nil
		})
		must(t, socket.WriteControl(websocket.PingMessage, []byte("are you there?"), time.Now().Add(longest)))
		must(t, socket.WriteMessage(websocket.TextMessage, []byte("after the ping")))
		_, _, err := socket.ReadMessage()
		must(t, err)
		if said := <-pongs; said != "are you there?" {
			t.Fatalf("%q", said)
		}
	})

	t.Run("the client ends it, and the server hears why", func(t *testing.T) {
		socket := chatWith(t, gateway, sayTell)
		must(t, socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4001, "enough"), time.Now().Add(longest)))
		// Its server echoes the code, without the reason (RFC 6455 §5.5.1).
		_, _, err := socket.ReadMessage()
		isClose(t, err, 4001, "")
		isClose(t, <-heard, 4001, "enough")
	})

	t.Run("the server ends it, and the client hears why", func(t *testing.T) {
		socket := chatWith(t, gateway, sayClose)
		_, _, err := socket.ReadMessage()
		isClose(t, err, 4002, "closing time")
	})

	t.Run("a server that vanishes is seen to have", func(t *testing.T) {
		socket := chatWith(t, gateway, sayGone)
		_, _, err := socket.ReadMessage()
		if err == nil || websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			t.Fatalf("the end is %v", err)
		}
	})

	t.Run("a client that vanishes is seen to have", func(t *testing.T) {
		socket := chatWith(t, gateway, sayTell)
		must(t, socket.WriteMessage(websocket.TextMessage, []byte("hello")))
		_, _, err := socket.ReadMessage()
		must(t, err)
		must(t, socket.NetConn().Close())
		if err := <-heard; websocket.IsCloseError(err, 4001) {
			t.Fatal(err)
		}
	})

	t.Run("it lives as long as something is said, and ends when nothing is", func(t *testing.T) {
		socket := chatWith(t, gateway, sayTell)
		for range 8 {
			time.Sleep(500 * time.Millisecond)
			must(t, socket.WriteControl(websocket.PingMessage, nil, time.Now().Add(longest)))
			must(t, socket.WriteMessage(websocket.TextMessage, []byte("still here")))
			_, _, err := socket.ReadMessage()
			must(t, err)
		}
		since := time.Now()
		_, _, err := socket.ReadMessage()
		if err == nil || errors.Is(err, http.ErrHandlerTimeout) {
			t.Fatal("something was said")
		}
		// Late by as much again at most.
		if silent := time.Since(since); silent < 1500*time.Millisecond || silent > 4*time.Second+busy {
			t.Fatalf("it ended after %v", silent)
		}
		<-heard
	})

	t.Run("messages come back over TLS", func(t *testing.T) {
		authority := newAuthority(t)
		made := authority.certify(t, "localhost")
		encrypted := startGateway(t, routesTo(backend, ""), made.settings()...)
		dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: authority.pool(), ServerName: "localhost"}}
		socket, _, err := dialer.Dial("wss://"+encrypted.address+"/"+sayEcho, http.Header{"Authorization": {bearer}})
		must(t, err)
		defer socket.Close()
		must(t, socket.WriteMessage(websocket.BinaryMessage, make([]byte, mib)))
		_, echoed, err := socket.ReadMessage()
		must(t, err)
		if len(echoed) != mib {
			t.Fatalf("%d bytes came back", len(echoed))
		}
	})

	t.Run("without a token nothing is upgraded", func(t *testing.T) {
		_, answer, err := websocket.DefaultDialer.Dial("ws://"+gateway.address+"/"+sayEcho, nil)
		if !errors.Is(err, websocket.ErrBadHandshake) || answer.StatusCode != http.StatusUnauthorized {
			t.Fatalf("%v: %v", err, answer)
		}
	})
}

// chatWith is a connection whose server does what the path says.
func chatWith(t *testing.T, gateway *gateway, path string) *websocket.Conn {
	t.Helper()
	headers := http.Header{"Authorization": {bearer}, "Sec-Websocket-Protocol": {"chat.v2, chat.v1"}}
	socket, answer, err := websocket.DefaultDialer.Dial("ws://"+gateway.address+"/"+path, headers)
	must(t, err)
	t.Cleanup(func() { socket.Close() })
	if answer.StatusCode != http.StatusSwitchingProtocols || socket.Subprotocol() != "chat.v2" {
		t.Fatalf("%d, %q", answer.StatusCode, socket.Subprotocol())
	}
	must(t, socket.SetReadDeadline(time.Now().Add(longest)))
	return socket
}

// chat is a server that tells `heard`, if it is to, how a conversation has ended.
func chat(heard chan error) http.HandlerFunc {
	upgrader := websocket.Upgrader{Subprotocols: []string{"chat.v2"}, CheckOrigin: func(*http.Request) bool { return true }}
	return func(answer http.ResponseWriter, request *http.Request) {
		socket, err := upgrader.Upgrade(answer, request, nil)
		if err != nil {
			return
		}
		defer socket.Close()
		switch request.URL.Path[1:] {
		case sayClose:
			_ = socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4002, "closing time"), time.Now().Add(longest))
			_, _, _ = socket.ReadMessage()
			return
		case sayGone:
			return
		}
		for {
			kind, message, err := socket.ReadMessage()
			if err == nil {
				err = socket.WriteMessage(kind, message)
			}
			if err != nil {
				if request.URL.Path[1:] == sayTell {
					heard <- err
				}
				return
			}
		}
	}
}

func isClose(t *testing.T, err error, code int, reason string) {
	t.Helper()
	var ended *websocket.CloseError
	if !errors.As(err, &ended) || ended.Code != code || ended.Text != reason {
		t.Fatalf("the end is %v", err)
	}
}

package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	// messageLimit is the maximum size of a message of a tunnel. Clients send a few kilobytes at once.
	messageLimit = 1 << 20
	// pingEvery and pingTime are how soon a vanished client is noticed.
	pingEvery = 30 * time.Second
	pingTime  = 30 * time.Second
)

// tunnel carries the bytes of a TCP connection in the binary messages of a websocket.
func (f *forwarder) tunnel(w http.ResponseWriter, r *http.Request, s service) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		refuse(w, http.StatusUpgradeRequired, "service "+s.name.String()+" is not a web page: it carries TCP in a websocket; use `det-deploy task port-forward`")
		return
	}
	conn, err := f.connect(r, s)
	if err != nil {
		status, text := failureOf(s, err)
		refuse(w, status, text)
		return
	}
	defer func() { _ = conn.Close() }()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has responded
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(messageLimit)
	carry(r.Context(), ws, conn)
}

// connect connects a visitor to a service.
func (f *forwarder) connect(r *http.Request, s service) (net.Conn, error) {
	if s.Shell {
		return f.cfg.Login(r.Context(), s.Service, r.RemoteAddr), nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), connectTime)
	defer cancel()
	return f.cfg.Streams().Dial(ctx, s.Container, s.Port)
}

// carry copies in both directions until the service ends its output, or either end vanishes.
func carry(ctx context.Context, ws *websocket.Conn, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	go func() {
		defer cancel()
		copyMessages(ctx, conn, ws)
	}()
	go ping(ctx, cancel, ws)
	buffer := make([]byte, 32<<10)
	for {
		n, err := conn.Read(buffer)
		if n > 0 && ws.Write(ctx, websocket.MessageBinary, buffer[:n]) != nil {
			return
		}
		if err != nil {
			if ctx.Err() == nil { // otherwise the client has left, or sent what it may not
				_ = ws.Close(websocket.StatusNormalClosure, "")
			}
			return
		}
	}
}

// copyMessages writes the binary messages to the service until the client closes the websocket. Text is
// ignored, as in Determined 0.38.1.
func copyMessages(ctx context.Context, conn net.Conn, ws *websocket.Conn) {
	for {
		kind, message, err := ws.Reader(ctx)
		if err != nil {
			return
		}
		to := io.Writer(conn)
		if kind == websocket.MessageText {
			to = io.Discard
		}
		if _, err := io.Copy(to, message); err != nil {
			return
		}
	}
}

func ping(ctx context.Context, vanished func(), ws *websocket.Conn) {
	every := time.NewTicker(pingEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		limit, cancel := context.WithTimeout(ctx, pingTime)
		err := ws.Ping(limit)
		cancel()
		if err != nil {
			vanished()
			return
		}
	}
}

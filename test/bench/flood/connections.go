package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/test/bench/master"
)

// agents opens connections to the agents' endpoint and sends one message over each.
func agents(ctx context.Context, m *measured, n int, say []byte) error {
	return many(ctx, n, func(ctx context.Context) {
		conn, res, err := websocket.Dial(ctx, "ws://"+m.Addr+"/agents", nil)
		if err != nil {
			if res != nil && res.Body != nil {
				_ = res.Body.Close()
			}
			master.Pause(ctx, 100*time.Millisecond)
			return
		}
		defer conn.CloseNow() //nolint:errcheck // the master may have closed it
		if say != nil && conn.Write(ctx, websocket.MessageBinary, say) != nil {
			return
		}
		_, _, _ = conn.Read(ctx) // until the master closes it
	})
}

func silentAgents(ctx context.Context, m *measured) error { return agents(ctx, m, 2000, nil) }

func longAgents(ctx context.Context, m *measured) error {
	say, err := proto.Marshal(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: &agentv1.Hello{
		Protocol: agentv1.Protocol, AgentId: strings.Repeat("\x00", 4<<20-1024),
	}}})
	if err != nil {
		return err
	}
	return agents(ctx, m, 40, say)
}

// held opens n connections, sends a message over each, and keeps the accepted ones open.
func held(ctx context.Context, m *measured, n int, say string, then time.Duration) error {
	return many(ctx, n, func(ctx context.Context) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.Addr)
		if err != nil {
			master.Pause(ctx, 100*time.Millisecond)
			return
		}
		defer conn.Close() //nolint:errcheck // the master may have closed it
		if _, err := io.WriteString(conn, say); err != nil {
			return
		}
		for ctx.Err() == nil {
			if then == 0 {
				_ = conn.SetReadDeadline(time.Now().Add(time.Second))
				if _, err := conn.Read(make([]byte, 1)); err != nil && ctx.Err() == nil && !isTimeout(err) {
					master.Pause(ctx, 100*time.Millisecond)
					return
				}
				continue
			}
			if _, err := io.WriteString(conn, "X-A: b\r\n"); err != nil {
				return
			}
			master.Pause(ctx, then)
		}
	})
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error) //nolint:errorlint // it comes from the connection itself
	return ok && n.Timeout()
}

func silentConnections(ctx context.Context, m *measured) error { return held(ctx, m, 5000, "", 0) }

func slowHeaders(ctx context.Context, m *measured) error {
	return held(ctx, m, 2000, "GET / HTTP/1.1\r\nHost: x\r\n", time.Second)
}

func slowBodies(ctx context.Context, m *measured) error {
	head := fmt.Sprintf("POST /api/v1/job-queues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 900000\r\n\r\n", m.Token)
	return held(ctx, m, 500, head+strings.Repeat("x", 800_000), 0)
}

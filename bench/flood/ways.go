package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// many does one thing n times at once, again and again until ctx ends. That the master
// refuses is what it should do.
func many(ctx context.Context, n int, do func(ctx context.Context)) error {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				do(ctx)
				pause(ctx, time.Millisecond)
			}
		})
	}
	all.Wait()
	return nil
}

// agents opens connections to the agents' end and says something over each.
func agents(ctx context.Context, m *master, n int, say []byte) error {
	return many(ctx, n, func(ctx context.Context) {
		conn, res, err := websocket.Dial(ctx, "ws://"+m.addr+"/agents", nil)
		if err != nil {
			if res != nil && res.Body != nil {
				_ = res.Body.Close()
			}
			pause(ctx, 100*time.Millisecond)
			return
		}
		defer conn.CloseNow() //nolint:errcheck // the master may have closed it
		if say != nil && conn.Write(ctx, websocket.MessageBinary, say) != nil {
			return
		}
		_, _, _ = conn.Read(ctx) // until it is closed
	})
}

func silentAgents(ctx context.Context, m *master) error { return agents(ctx, m, 2000, nil) }

func longAgents(ctx context.Context, m *master) error {
	say, err := proto.Marshal(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: &agentv1.Hello{
		Protocol: agentv1.Protocol, AgentId: strings.Repeat("\x00", 4<<20-1024),
	}}})
	if err != nil {
		return err
	}
	return agents(ctx, m, 40, say)
}

// call sends one request and drops the answer.
func call(ctx context.Context, m *master, method, path string, body []byte) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+m.addr+path, bytes.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Bearer "+m.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, res.Body) // the answer is not what is measured
	_ = res.Body.Close()
}

func longLogins(ctx context.Context, m *master) error {
	return many(ctx, 40, func(ctx context.Context) {
		name := rand.Text() + strings.Repeat("x", 1<<20-200)
		call(ctx, m, http.MethodPost, "/api/v1/auth/login", fmt.Appendf(nil, `{"username":%q,"password":"x"}`, name))
	})
}

func wrongPasswords(ctx context.Context, m *master) error {
	return many(ctx, 64, func(ctx context.Context) {
		call(ctx, m, http.MethodPost, "/api/v1/auth/login", fmt.Appendf(nil, `{"username":%q,"password":"x"}`, rand.Text()))
	})
}

// held opens n connections, says something over each, and holds those that are open.
func held(ctx context.Context, m *master, n int, say string, then time.Duration) error {
	return many(ctx, n, func(ctx context.Context) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.addr)
		if err != nil {
			pause(ctx, 100*time.Millisecond)
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
					pause(ctx, 100*time.Millisecond)
					return
				}
				continue
			}
			if _, err := io.WriteString(conn, "X-A: b\r\n"); err != nil {
				return
			}
			pause(ctx, then)
		}
	})
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error) //nolint:errorlint // it comes from the connection itself
	return ok && n.Timeout()
}

func silentConnections(ctx context.Context, m *master) error { return held(ctx, m, 5000, "", 0) }

func slowHeaders(ctx context.Context, m *master) error {
	return held(ctx, m, 2000, "GET / HTTP/1.1\r\nHost: x\r\n", time.Second)
}

func slowBodies(ctx context.Context, m *master) error {
	head := fmt.Sprintf("POST /api/v1/job-queues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 900000\r\n\r\n", m.token)
	return held(ctx, m, 500, head+strings.Repeat("x", 800_000), 0)
}

func contexts(ctx context.Context, m *master) error {
	content := make([]byte, 100_000_000)
	rand.Read(content) // so that it cannot be packed
	body := []byte(`{"config":{"entrypoint":["true"],"resources":{"slots":0}},"files":[{"path":"a","type":48,"mode":420,"content":"` +
		base64.StdEncoding.EncodeToString(content) + `"}]}`)
	return many(ctx, 6, func(ctx context.Context) {
		call(ctx, m, http.MethodPost, "/api/v1/commands", body)
		pause(ctx, time.Second)
	})
}

func longPaths(ctx context.Context, m *master) error {
	text := strings.Repeat("%00", 20_000)
	return many(ctx, 64, func(ctx context.Context) {
		call(ctx, m, http.MethodGet, "/api/v1/tasks/"+text, nil)
		call(ctx, m, http.MethodGet, "/api/v1/agents?offset="+text, nil)
	})
}

package hostile_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// linkAttempts violate the protocol of the link, or send messages about other agents' containers.
func linkAttempts() []attempt {
	const over, rules = "to end or forge what another agent runs", "to be listened to before the hello"
	var all []attempt
	for name, m := range map[string]func(w *world) *agentv1.AgentMessage{
		"the end of a container": func(w *world) *agentv1.AgentMessage {
			return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{
				ContainerId: w.names["container"], AllocationId: w.names["victim"], State: apiv1.Container_STATE_TERMINATED,
			}}}
		},
		"lines of a container": func(w *world) *agentv1.AgentMessage {
			return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
				ContainerId: w.names["container"], AllocationId: w.names["victim"], FirstSeq: 1 << 20, Lines: []*agentv1.Line{forgedLine()},
			}}}
		},
		"lines of a container, over those that are there": func(w *world) *agentv1.AgentMessage {
			return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
				ContainerId: w.names["container"], AllocationId: w.names["victim"], FirstSeq: 0, Lines: []*agentv1.Line{forgedLine()},
			}}}
		},
	} {
		all = append(all, attempt{
			name: "an agent tells " + name + " of another agent", who: agent, where: process, wants: over, control: joins,
			try: func(ctx context.Context, w *world) outcome { return w.forges(ctx, m(w)) },
		})
	}
	all = append(all, attempt{
		name: "a twin that is refused makes the connected agent's credential void", who: agent, where: process, wants: over, control: joins,
		try: func(ctx context.Context, w *world) outcome { return w.voids(ctx) },
	})
	for name, send := range map[string]func(context.Context, *websocket.Conn, *world) error{
		"text": func(ctx context.Context, c *websocket.Conn, _ *world) error {
			return c.Write(ctx, websocket.MessageText, []byte(`{"hello": {"agentId": "a"}}`))
		},
		"a change": func(ctx context.Context, c *websocket.Conn, w *world) error {
			return say(ctx, c, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{ContainerId: w.names["container"], AllocationId: w.names["victim"], State: apiv1.Container_STATE_TERMINATED}}})
		},
		"a megabyte of nothing": func(ctx context.Context, c *websocket.Conn, _ *world) error {
			return c.Write(ctx, websocket.MessageBinary, make([]byte, 1<<20))
		},
		"a hello of a megabyte": func(ctx context.Context, c *websocket.Conn, _ *world) error {
			h := hello("large")
			h.Hostname = strings.Repeat("h", 1<<20)
			return say(ctx, c, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}})
		},
		"half a message": func(ctx context.Context, c *websocket.Conn, _ *world) error {
			b, err := proto.Marshal(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: hello("half")}})
			if err != nil {
				return err
			}
			return c.Write(ctx, websocket.MessageBinary, b[:len(b)/2])
		},
	} {
		all = append(all, attempt{
			name: "the first message on the link is " + name, who: stranger, where: process, wants: rules, control: joins,
			try: func(ctx context.Context, w *world) outcome {
				ctx, cancel := context.WithTimeout(ctx, helloLimit)
				defer cancel()
				conn, err := w.dial(ctx, nil)
				if err != nil {
					return isUntried(err)
				}
				defer func() { _ = conn.CloseNow() }() // its state does not matter
				if err := send(ctx, conn, w); err != nil {
					return isRefused("%v", err)
				}
				m, err := hear(ctx, conn)
				return gained(err == nil, "%v %v", m, err)
			},
		})
	}
	all = append(all, attempt{
		name: "a page opens the link", who: visitor, where: process, wants: rules, control: joins,
		try: func(ctx context.Context, w *world) outcome {
			return w.admitted(ctx, hello("page"), http.Header{"Origin": {"http://evil.example"}, "Cookie": {"auth=" + w.tokens["admin"]}})
		},
	})
	return all
}

func forgedLine() *agentv1.Line {
	return &agentv1.Line{AtUs: time.Now().UnixMicro(), Stdtype: "stdout", Text: []byte("forged by another agent")}
}

// forges sends messages of an authenticated agent about alice's container.
func (w *world) forges(ctx context.Context, m *agentv1.AgentMessage) outcome {
	h := hello("old")
	h.Credential = w.tokens["old-agent"]
	conn, welcome, err := w.comeBack(ctx, h)
	if err != nil {
		return isUntried(err)
	}
	defer func() { _ = conn.CloseNow() }() // its state does not matter
	if c := welcome.GetCredential(); c != "" {
		w.tokens["old-agent"] = c
	}
	if err := say(ctx, conn, m); err != nil {
		return isRefused("%v", err)
	}
	// An accepted message is acknowledged when it is stored; another is rejected.
	answer, err := w.hearOf(ctx, conn)
	if err != nil && !errors.Is(err, errRefusal) {
		return isUntried(err)
	}
	var reply struct{ Command struct{ State string } }
	w.must(ctx, "alice", call{method: "GET", path: "/api/v1/commands/{command}"}, &reply)
	lines, lerr := w.log(ctx, "alice", w.names["command"])
	if lerr != nil {
		return isUntried(lerr)
	}
	forged := strings.Contains(strings.Join(lines, "\n"), "forged by another agent")
	return gained(forged || reply.Command.State != "STATE_RUNNING", "%s, %v %v", reply.Command.State, answer, err)
}

// comeBack introduces an agent that was connected before. It retries, because the master rejects a
// second connection until it has noticed the end of the first.
func (w *world) comeBack(ctx context.Context, h *agentv1.Hello) (conn *websocket.Conn, welcome *agentv1.Welcome, err error) {
	w.awaits(ctx, func() bool {
		conn, welcome, err = w.join(ctx, h, nil)
		return err == nil
	})
	return conn, welcome, err
}

// hearOf waits for the master's acknowledgement for alice's container.
func (w *world) hearOf(ctx context.Context, conn *websocket.Conn) (*agentv1.MasterMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		m, err := hear(ctx, conn)
		if err != nil || m.GetAck().GetContainerId() == w.names["container"] || m.GetLogAck().GetContainerId() == w.names["container"] {
			return m, err
		}
	}
}

// voids introduces a twin of the connected agent, which must be rejected, and checks that the
// agent's credential is not revoked by that.
func (w *world) voids(ctx context.Context) outcome {
	h := hello("a")
	h.JoinToken = w.tokens["join"]
	if conn, _, err := w.join(ctx, h, nil); err == nil {
		_ = conn.CloseNow() // the twin was welcomed, which is worse
		return isSucceeded("the twin is welcome")
	}
	h = hello("a")
	h.Credential = w.tokens["credential"]
	_, _, err := w.join(ctx, h, nil)
	return gained(err != nil && strings.Contains(err.Error(), "revoked"), "%v", err)
}

package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// helloLimit limits the master's answer to an agent.
const helloLimit = patience

// dial opens the agents' link with the given header.
func (w *world) dial(ctx context.Context, h http.Header) (*websocket.Conn, error) {
	conn, resp, err := websocket.Dial(ctx, strings.Replace(w.url, "http", "ws", 1)+"/agents", &websocket.DialOptions{HTTPHeader: h})
	if err != nil && resp != nil {
		err = fmt.Errorf("%s: %w", resp.Status, err)
	}
	return conn, err
}

// hello returns an agent's Hello message.
func hello(id string) *agentv1.Hello {
	return &agentv1.Hello{Protocol: agentv1.Protocol, AgentId: id, Version: "v0.0.0", Hostname: id, Devices: []*apiv1.Device{{Id: 0, Brand: "fake", Type: apiv1.Device_TYPE_CPU}}}
}

func say(ctx context.Context, conn *websocket.Conn, m *agentv1.AgentMessage) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageBinary, b)
}

var errRefusal = errors.New("the master refuses")

// hear waits for the master's next message. It returns an error if the link is closed.
func hear(ctx context.Context, conn *websocket.Conn) (*agentv1.MasterMessage, error) {
	_, b, err := conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	m := &agentv1.MasterMessage{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, err
	}
	if r := m.GetRefusal(); r != nil {
		return nil, fmt.Errorf("%w: %s", errRefusal, r.GetReason())
	}
	return m, nil
}

// join introduces an agent and returns the open link and the Welcome message. It returns an error
// if the agent is rejected.
func (w *world) join(ctx context.Context, h *agentv1.Hello, as http.Header) (*websocket.Conn, *agentv1.Welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	conn, err := w.dial(ctx, as)
	if err != nil {
		return nil, nil, err
	}
	if err := say(ctx, conn, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}}); err != nil {
		_ = conn.CloseNow() // it has failed already
		return nil, nil, err
	}
	m, err := hear(ctx, conn)
	if err != nil || m.GetWelcome() == nil {
		_ = conn.CloseNow() // the link is not used any more
		return nil, nil, fmt.Errorf("no welcome: %w", errors.Join(err, errRefusal))
	}
	return conn, m.GetWelcome(), nil
}

// admitted reports success if the agent receives a Welcome message.
func (w *world) admitted(ctx context.Context, h *agentv1.Hello, as http.Header) outcome {
	conn, welcome, err := w.join(ctx, h, as)
	if errors.Is(err, context.DeadlineExceeded) {
		return isUntried(err)
	}
	if err != nil {
		return isRefused("%v", err)
	}
	_ = conn.CloseNow() // it was welcomed
	return isSucceeded("welcome to %s", welcome.GetClusterId())
}

// joins checks that an agent with a join token is accepted.
var joins = &control{"a new agent joins with a join token", func(ctx context.Context, w *world) outcome {
	h := hello("newcomer")
	h.JoinToken = w.tokens["join"]
	return w.admitted(ctx, h, nil)
}}

// enlist collects the credentials of agents: the join token of a pool, the credential of the
// world's own agent, and those of agents that joined before and are disconnected.
func (w *world) enlist() {
	w.t.Helper()
	ctx := w.t.Context()
	w.tokens["join"] = w.joinToken()
	credential, err := os.ReadFile(filepath.Join(w.cluster.Dir, "agent-a", "credential"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.tokens["credential"] = strings.TrimSpace(string(credential))
	w.tokens["brief"] = w.joinToken("--valid-for", "1s")
	w.name("counted", w.joinToken("--uses", "1"))
	for _, id := range []string{"old", "revoked"} {
		h := hello(id)
		h.JoinToken = w.joinToken()
		conn, welcome, err := w.join(ctx, h, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		_ = conn.CloseNow() // only the credential is needed
		w.tokens[id+"-agent"] = welcome.GetCredential()
	}
	w.must(ctx, "admin", call{method: "POST", path: "/api/v1/agents/revoked/revoke"}, nil)
	w.tokens["spent"] = w.joinToken("--uses", "1")
	h := hello("only")
	h.JoinToken = w.tokens["spent"]
	conn, _, err := w.join(ctx, h, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = conn.CloseNow() // the token is used
	w.tokens["withdrawn"] = w.joinToken()
	w.must(ctx, "admin", call{method: "POST", path: "/api/v1/join-tokens/revoke", body: document(map[string]string{"token": w.tokens["withdrawn"]})}, nil)
}

// joinToken creates a join token for agents.
func (w *world) joinToken(flags ...string) string {
	w.t.Helper()
	args := append([]string{"master", "join-token", "--config-file", filepath.Join(w.cluster.Dir, "master.yaml")}, flags...)
	return strings.TrimSpace(w.cluster.Run(args...))
}

// hellos are Hello messages that must be rejected.
var hellos = []struct {
	name string
	who  who
	make func(w *world, h *agentv1.Hello)
}{
	{"nothing", stranger, func(*world, *agentv1.Hello) {}},
	{"an invented join token", stranger, func(_ *world, h *agentv1.Hello) { h.JoinToken = "ddjoin1.00000000.e30.AAAA" }},
	{"a join token whose end is cut off", stranger, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["join"][:len(w.tokens["join"])-2] }},
	{"a join token with a changed body", stranger, func(w *world, h *agentv1.Hello) {
		parts := strings.Split(w.tokens["join"], ".")
		parts[2] = "eyJjIjoieCJ9"
		h.JoinToken = strings.Join(parts, ".")
	}},
	{"a join token in padded base64", stranger, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["join"] + "=" }},
	{"a join token without its signature", stranger, func(w *world, h *agentv1.Hello) {
		h.JoinToken = w.tokens["join"][:strings.LastIndex(w.tokens["join"], ".")+1]
	}},
	{"a credential that was revoked, and a join token", formerAgent, func(w *world, h *agentv1.Hello) {
		h.AgentId, h.Credential, h.JoinToken = "revoked", w.tokens["revoked-agent"], w.tokens["join"]
	}},
	{"the name of an agent that was revoked, and a join token", formerAgent, func(w *world, h *agentv1.Hello) {
		h.AgentId, h.JoinToken = "revoked", w.tokens["join"]
	}},
	{"a join token that has been used as often as it may be", formerAgent, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["spent"] }},
	{"a join token that was revoked", formerAgent, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["withdrawn"] }},
	{"a join token that has expired", formerAgent, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["brief"] }},
	{"a join token, for another pool", agent, func(w *world, h *agentv1.Hello) { h.JoinToken, h.ResourcePool = w.tokens["join"], "guarded" }},
	{"a join token as a credential", agent, func(w *world, h *agentv1.Hello) { h.Credential = w.tokens["join"] }},
	{"a credential as a join token", agent, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["credential"] }},
	{"the credential of another agent", agent, func(w *world, h *agentv1.Hello) { h.Credential = w.tokens["credential"] }},
	{"a credential with another body", agent, func(w *world, h *agentv1.Hello) {
		parts := strings.Split(w.tokens["credential"], ".")
		parts[2] = "eyJhIjoiYSJ9"
		h.Credential = strings.Join(parts, ".")
	}},
	{"the name and credential of an agent that is connected", agent, func(w *world, h *agentv1.Hello) {
		h.AgentId, h.Credential = "a", w.tokens["credential"]
	}},
	{"the name of an agent that is connected, and a join token", agent, func(w *world, h *agentv1.Hello) {
		h.AgentId, h.JoinToken = "a", w.tokens["join"]
	}},
	{"a credential that was revoked", formerAgent, func(w *world, h *agentv1.Hello) { h.AgentId, h.Credential = "revoked", w.tokens["revoked-agent"] }},
	{"a credential that was revoked, for another pool", formerAgent, func(w *world, h *agentv1.Hello) {
		h.AgentId, h.Credential, h.ResourcePool = "revoked", w.tokens["revoked-agent"], "guarded"
	}},
	{"an agent's credential, for another pool", agent, func(w *world, h *agentv1.Hello) {
		h.AgentId, h.Credential, h.ResourcePool = "old", w.tokens["old-agent"], "guarded"
	}},
	{"a user's token as a join token", user, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["mallory"] }},
	{"a user's token as a credential", user, func(w *world, h *agentv1.Hello) { h.Credential = w.tokens["mallory"] }},
	{"an administrator's token as a join token", user, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["admin"] }},
	{"an allocation's token as a join token", userTask, func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["mallory-allocation"] }},
	{"a task's user token as a credential", userTask, func(w *world, h *agentv1.Hello) { h.Credential = w.tokens["mallory-task"] }},
	{"a proof of a machine of AWS", stranger, func(_ *world, h *agentv1.Hello) { h.Proof, h.ProofKind = []byte(`{"url":"http://127.0.0.1"}`), "aws" }},
	{"a proof of a machine of Google", stranger, func(_ *world, h *agentv1.Hello) { h.Proof, h.ProofKind = []byte("e30.e30."), "gcp" }},
	{"a proof of a local machine", stranger, func(_ *world, h *agentv1.Hello) { h.Proof, h.ProofKind = []byte("a"), "local" }},
	{"a proof of no kind", stranger, func(_ *world, h *agentv1.Hello) { h.Proof = []byte("a") }},
	{"preparing", stranger, func(_ *world, h *agentv1.Hello) { h.Preparing = true }},
	{"preparing with a join token", agent, func(w *world, h *agentv1.Hello) { h.Preparing, h.JoinToken = true, w.tokens["join"] }},
	{"a join token and a name with a slash", agent, func(w *world, h *agentv1.Hello) { h.JoinToken, h.AgentId = w.tokens["join"], "../a" }},
	{"a join token and a name with lines", agent, func(w *world, h *agentv1.Hello) { h.JoinToken, h.AgentId = w.tokens["join"], "a\nb" }},
	{"a join token and no name", agent, func(w *world, h *agentv1.Hello) { h.JoinToken, h.AgentId = w.tokens["join"], "" }},
	{"a join token and a name of 300 letters", agent, func(w *world, h *agentv1.Hello) {
		h.JoinToken, h.AgentId = w.tokens["join"], strings.Repeat("a", 300)
	}},
	{"a join token and a million devices", agent, func(w *world, h *agentv1.Hello) {
		h.JoinToken = w.tokens["join"]
		for i := range int32(100_000) {
			h.Devices = append(h.Devices, &apiv1.Device{Id: i + 1})
		}
	}},
	{"a join token and a device below zero", agent, func(w *world, h *agentv1.Hello) { h.JoinToken, h.Devices[0].Id = w.tokens["join"], -1 }},
	{"a join token and no protocol", agent, func(w *world, h *agentv1.Hello) { h.JoinToken, h.Protocol = w.tokens["join"], 0 }},
	{"a join token and a protocol to come", agent, func(w *world, h *agentv1.Hello) { h.JoinToken, h.Protocol = w.tokens["join"], 99 }},
}

// agentAttempts use the agents' link.
func agentAttempts() []attempt {
	var all []attempt
	for i, k := range hellos {
		all = append(all, attempt{
			name: "an agent shows " + k.name, who: k.who, where: process, wants: "to be an agent, or another agent than one is", control: joins,
			try: func(ctx context.Context, w *world) outcome {
				h := hello(fmt.Sprintf("hostile-%d", i))
				k.make(w, h)
				return w.admitted(ctx, h, nil)
			},
		})
	}
	for as, by := range map[string]who{"mallory": user, "admin-task": adminTask, "alice": user} {
		all = append(all, attempt{
			name: "an agent without a hello's proof, with a header of " + as, who: by, where: process, wants: "to be an agent, or another agent than one is", control: joins,
			try: func(ctx context.Context, w *world) outcome {
				return w.admitted(ctx, hello("user"), bearing(w.tokens[as]))
			},
		})
	}
	return slices.Concat(all, agedAttempts(), proofAttempts(), forgeAttempts(), linkAttempts())
}

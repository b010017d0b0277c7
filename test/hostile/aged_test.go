package hostile_test

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/test/clustertest"
)

// age creates credentials and join tokens that were signed one and two keys ago. It rotates the
// keys before the world's own agent joins.
func (w *world) age() {
	w.t.Helper()
	ctx := w.t.Context()
	w.login(ctx, "admin", "admin", clustertest.Password)
	for _, age := range []string{"aged", "older"} {
		w.tokens[age] = w.joinToken()
		h := hello(age)
		h.JoinToken = w.tokens[age]
		conn, welcome, err := w.join(ctx, h, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		_ = conn.CloseNow() // only the credential is needed
		w.tokens[age+"-agent"] = welcome.GetCredential()
		w.name("cluster-id", welcome.GetClusterId())
		w.must(ctx, "admin", call{method: "POST", path: "/api/v1/master/rotate-keys"}, nil)
	}
}

// lasts checks that a join token of the previous key is accepted.
var lasts = &control{"a new agent joins with a join token that was signed one key ago", func(ctx context.Context, w *world) outcome {
	h := hello("latecomer")
	h.JoinToken = w.tokens["older"]
	return w.admitted(ctx, h, nil)
}}

// agedAttempts use credentials and join tokens whose key was deleted.
func agedAttempts() []attempt {
	var all []attempt
	for name, make := range map[string]func(w *world, h *agentv1.Hello){
		"a join token that was signed two keys ago": func(w *world, h *agentv1.Hello) { h.JoinToken = w.tokens["aged"] },
		"its credential that was signed two keys ago": func(w *world, h *agentv1.Hello) {
			h.AgentId, h.Credential = "aged", w.tokens["aged-agent"]
		},
		"its credential and a join token that were signed two keys ago": func(w *world, h *agentv1.Hello) {
			h.AgentId, h.Credential, h.JoinToken = "aged", w.tokens["aged-agent"], w.tokens["aged"]
		},
		"a join token that was signed two keys ago, with the present key's id": func(w *world, h *agentv1.Hello) {
			h.JoinToken = underKeyOf(w.tokens["aged"], w.tokens["join"])
		},
		"its credential that was signed two keys ago, with the present key's id": func(w *world, h *agentv1.Hello) {
			h.AgentId, h.Credential = "aged", underKeyOf(w.tokens["aged-agent"], w.tokens["old-agent"])
		},
		"a join token of the present key, with the id of one that is gone": func(w *world, h *agentv1.Hello) {
			h.JoinToken = underKeyOf(w.tokens["join"], w.tokens["aged"])
		},
		"a credential of the present key, with the id of one that is gone": func(w *world, h *agentv1.Hello) {
			h.AgentId, h.Credential = "old", underKeyOf(w.tokens["old-agent"], w.tokens["aged-agent"])
		},
	} {
		all = append(all, attempt{
			name: "an agent shows " + name, who: formerAgent, where: process, wants: "to be an agent, or another agent than one is", control: lasts,
			try: func(ctx context.Context, w *world) outcome {
				h := hello("aged-other")
				make(w, h)
				return w.admittedAlone(ctx, h)
			},
		})
	}
	return all
}

// underKeyOf returns a token with the key ID of another one.
func underKeyOf(paper, other string) string {
	parts, key := strings.Split(paper, "."), strings.Split(other, ".")[1]
	parts[1] = key
	return strings.Join(parts, ".")
}

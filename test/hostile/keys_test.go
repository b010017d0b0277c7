package hostile_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

// key is the credential of a caller without permission.
type key struct {
	name   string
	who    who
	header func(w *world) http.Header
	// opens reports whether the credential permits a request, which then is not an attempt.
	opens func(r request) bool
}

// wrongKeys permit no request.
var wrongKeys = []key{
	{name: "no token", who: stranger, header: func(*world) http.Header { return nil }},
	{name: "an invented token", who: stranger, header: func(*world) http.Header { return bearing("dduser1_AAAAAAAAAAAAAAAAAAAAAAAAAA") }},
	{name: "a token without its last letter", who: stranger, header: func(w *world) http.Header {
		return bearing(w.tokens["alice"][:len(w.tokens["alice"])-1])
	}},
	{name: "a token in lower case", who: stranger, header: func(w *world) http.Header { return bearing(strings.ToLower(w.tokens["alice"])) }},
	{name: "the stored hash of a token", who: stranger, header: func(w *world) http.Header {
		sum := sha256.Sum256([]byte(w.tokens["admin"]))
		return bearing(hex.EncodeToString(sum[:]))
	}},
	{name: "a name and password as basic authentication", who: stranger, header: func(*world) http.Header {
		return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+clustertest.Password))}}
	}},
	{name: "the token of a login that has ended", who: former, header: func(w *world) http.Header { return bearing(w.tokens["dave"]) }},
	{name: "the token of a deactivated user", who: former, header: func(w *world) http.Header { return bearing(w.tokens["carol"]) }},
	{name: "the user token of a task that has ended", who: former, header: func(w *world) http.Header { return bearing(w.tokens["ended-task"]) }},
	{name: "the allocation token of a task that has ended", who: former, header: func(w *world) http.Header { return allocating(w.tokens["ended-allocation"]) }},
	{name: "an allocation token as a user's", who: userTask, header: func(w *world) http.Header { return bearing(w.tokens["alice-allocation"]) }},
	{name: "a user token as an allocation's", who: userTask, header: func(w *world) http.Header { return allocating(w.tokens["alice-task"]) }},
	{name: "a join token as a user's", who: agent, header: func(w *world) http.Header { return bearing(w.tokens["join"]) }},
	{name: "an agent's credential as a user's", who: agent, header: func(w *world) http.Header { return bearing(w.tokens["credential"]) }},
	{name: "an agent's credential as an allocation's", who: agent, header: func(w *world) http.Header { return allocating(w.tokens["credential"]) }},
}

// rightKeys belong to callers with some permissions.
var rightKeys = []key{
	{
		name: "another user's token", who: user, header: func(w *world) http.Header { return bearing(w.tokens["mallory"]) },
		opens: func(r request) bool { return r.user },
	},
	{
		name: "the user token of another user's task", who: userTask, header: func(w *world) http.Header { return bearing(w.tokens["mallory-task"]) },
		opens: func(r request) bool { return r.user && !forAccounts(r) },
	},
	{
		name: "the allocation token of another user's task", who: userTask, header: func(w *world) http.Header { return allocating(w.tokens["mallory-allocation"]) },
		opens: func(r request) bool { return strings.HasSuffix(r.id, "/me") || strings.HasSuffix(r.id, "/auth/user") },
	},
	{
		name: "the user token of an administrator's task", who: adminTask, header: func(w *world) http.Header { return bearing(w.tokens["admin-task"]) },
		opens: func(r request) bool { return !forAccounts(r) },
	},
}

// forAccounts reports whether a request is forbidden to tasks: those about accounts, agents, keys,
// workspaces, projects, templates, and the master itself.
func forAccounts(r request) bool {
	method, path, _ := strings.Cut(r.id, " ")
	if method == "GET" {
		return strings.HasPrefix(path, "/api/v1/master/") || strings.Contains(path, "audit") || strings.HasPrefix(path, "/api/v1/users") || strings.Contains(path, "join-tokens") || strings.Contains(path, "revoked")
	}
	if strings.Contains(path, "/experiments") {
		return false // experiments are work, even in a path below a project
	}
	return slices.ContainsFunc([]string{
		"users", "agents", "master", "audit", "sessions", "tokens", "join-tokens", "workspaces", "projects", "template",
	}, func(noun string) bool {
		return strings.HasPrefix(path, "/api/v1/"+noun)
	})
}

// apiAttempts combines every request with every key that does not permit it.
func apiAttempts() []attempt {
	var all []attempt
	for _, r := range requests {
		proof := r.control()
		if r.unseen != "" {
			proof = nil
		}
		for _, k := range slices.Concat(wrongKeys, rightKeys) {
			if k.opens != nil && k.opens(r) {
				continue
			}
			all = append(all, attempt{
				name: r.id + " with " + k.name, who: k.who, where: anywhere, wants: k.wants(),
				try: func(ctx context.Context, w *world) outcome { return w.carryOut(ctx, r.call(k.header(w))) }, control: proof,
			})
		}
	}
	return all
}

// wants returns the row of these attempts in the table.
func (k key) wants() string {
	if k.opens != nil {
		return "what others own, or only administrators may do, with " + k.name
	}
	return "every call of the API with " + k.name
}

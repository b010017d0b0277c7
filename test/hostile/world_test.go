package hostile_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/test/clustertest"
)

// userPassword is that of all users that a world creates.
const userPassword = "Brown-Bear-42"

// world is a live cluster with users: admin; alice, whose task has secrets; mallory, who is
// hostile; and some whose access has ended.
type world struct {
	t *testing.T
	// failures collects the unexpected outcomes.
	failures *failures

	where  where
	url    string
	client *http.Client
	// cluster is nil on Kubernetes.
	cluster *clustertest.Cluster
	// slots is the number of slots of a task here.
	slots int
	// secret is a secret of alice's task. It is never in a request of an attacker.
	secret string
	// env describes the machine as an attacker may be assumed to know it.
	env map[string]string
	// tokens are the credentials of users, by name.
	tokens map[string]string
	// secrets are those of launched machines.
	secrets []machine.Secret
	// names has the values of placeholders in requests.
	names  map[string]string
	filler *strings.Replacer
	// scripts and asRoot are the results of the scripts in a task, and as root.
	scripts, asRoot *report
}

// fill replaces the placeholders of a text.
func (w *world) fill(text string) string { return w.filler.Replace(text) }

// name sets a placeholder.
func (w *world) name(key, value string) {
	w.names[key] = value
	var pairs []string
	for k, v := range w.names {
		pairs = append(pairs, "{"+k+"}", v)
	}
	w.filler = strings.NewReplacer(pairs...)
}

// newWorld returns a world at an address, without users.
func newWorld(f *failures, at where, url string) *world {
	f.t.Helper()
	w := &world{
		t: f.t, failures: f, where: at, url: url, secret: "secret-" + rand.Text(), env: map[string]string{},
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		tokens: map[string]string{}, names: map[string]string{},
	}
	w.name("workspace", "1")
	w.name("pool", "default")
	w.name("mark", strings.ToLower(w.secret[len(w.secret)-8:]))
	w.env["MARK"] = w.names["mark"]
	half := len(w.secret) / 2
	// In halves, so that a search for the secret does not find the searching process.
	w.env["HALF"], w.env["OTHER_HALF"] = w.secret[:half], w.secret[half:]
	return w
}

// must sends a call of a user and fails the test unless it succeeds.
func (w *world) must(ctx context.Context, by string, c call, into any) {
	w.t.Helper()
	if err := w.try(ctx, by, c, into); err != nil {
		w.failures.addf("%v", err)
		w.t.FailNow()
	}
}

// try sends a call of a user and decodes the response. It returns an error unless the status is
// 2xx.
func (w *world) try(ctx context.Context, by string, c call, into any) error {
	if by != "" {
		c.header = bearing(w.tokens[by])
	}
	a, err := w.do(ctx, c)
	if err != nil {
		return err
	}
	if !a.ok() {
		return fmt.Errorf("%s %s %s: %s", by, c.method, c.path, a)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(a.body, into)
}

// login stores the token of a login under a name.
func (w *world) login(ctx context.Context, as, username, password string) {
	w.t.Helper()
	var reply struct{ Token string }
	body := document(map[string]any{"username": username, "password": password})
	w.must(ctx, "", call{method: "POST", path: "/api/v1/auth/login", body: body}, &reply)
	w.tokens[as] = reply.Token
}

// document encodes a value as JSON.
func document(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only values of the tables are marshalled
	}
	return string(b)
}

// user creates a user and logs in.
func (w *world) user(ctx context.Context, name string) {
	w.t.Helper()
	var reply struct{ User struct{ ID int } }
	body := document(map[string]any{"user": map[string]any{"username": name, "active": true}, "password": userPassword})
	w.must(ctx, "admin", call{method: "POST", path: "/api/v1/users", body: body}, &reply)
	w.name(name, fmt.Sprint(reply.User.ID))
	w.login(ctx, name, name, userPassword)
}

// task describes a task to launch.
type task struct {
	script string
	config map[string]any
	files  map[string]string
	// raw are files in their encoded form, in addition to files.
	raw []map[string]any
}

// body returns the request that launches the task.
func (t task) body(w *world) string {
	config := map[string]any{"resources": map[string]any{"slots": w.slots}}
	if t.script != "" {
		config["entrypoint"] = []string{"sh", "-c", t.script}
	}
	for k, v := range t.config {
		if part, ok := v.(map[string]any); ok && k == "resources" {
			for name, value := range part {
				config["resources"].(map[string]any)[name] = value
			}
			continue
		}
		config[k] = v
	}
	var files []map[string]any
	for name, text := range t.files {
		files = append(files, map[string]any{
			"path": name, "type": '0', "mode": 0o644, "content": base64.StdEncoding.EncodeToString([]byte(text)),
		})
	}
	return document(map[string]any{"config": config, "files": append(files, t.raw...)})
}

// launch submits a task and returns its ID.
func (w *world) launch(ctx context.Context, by string, t task) (string, error) {
	var reply struct{ Command struct{ ID string } }
	err := w.try(ctx, by, call{method: "POST", path: "/api/v1/commands", body: t.body(w)}, &reply)
	return reply.Command.ID, err
}

// line waits until a task has written a line that begins with a word, and returns the rest of it.
// It returns an error if the task ends before.
func (w *world) line(ctx context.Context, by, id, prefix string) (string, error) {
	for {
		var reply struct {
			Command struct{ State, ExitStatus string }
		}
		if err := w.try(ctx, by, call{method: "GET", path: "/api/v1/commands/" + id}, &reply); err != nil {
			return "", err
		}
		lines, err := w.log(ctx, by, id)
		if err != nil {
			return "", err
		}
		for _, l := range lines {
			if rest, found := strings.CutPrefix(l, prefix); found {
				return rest, nil
			}
		}
		if reply.Command.State == "STATE_TERMINATED" {
			return "", fmt.Errorf("task %s of %s ended without %q: %s\n%s", id, by, prefix, reply.Command.ExitStatus, strings.Join(lines, "\n"))
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("task %s of %s does not write %q (%s): %w\n%s", id, by, prefix, reply.Command.State, ctx.Err(), strings.Join(lines, "\n"))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// log returns the lines of a task's log.
func (w *world) log(ctx context.Context, by, id string) ([]string, error) {
	a, err := w.do(ctx, call{method: "GET", path: "/api/v1/tasks/" + id + "/logs", header: bearing(w.tokens[by])})
	if err != nil {
		return nil, err
	}
	if !a.ok() {
		return nil, errors.New(a.String())
	}
	var all []string
	for text := range strings.Lines(string(a.body)) {
		var l struct{ Result struct{ Log string } }
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return nil, fmt.Errorf("%w in %q", err, text)
		}
		all = append(all, strings.TrimSuffix(l.Result.Log, "\n"))
	}
	return all, nil
}

// ended waits until a task has ended.
func (w *world) ended(ctx context.Context, by, id string) error {
	for {
		var reply struct{ Command struct{ State string } }
		if err := w.try(ctx, by, call{method: "GET", path: "/api/v1/commands/" + id}, &reply); err != nil {
			return err
		}
		if reply.Command.State == "STATE_TERMINATED" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("task %s does not end: %w", id, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

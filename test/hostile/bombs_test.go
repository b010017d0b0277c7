package hostile_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// swollen limits the memory that a request may cost the master permanently, in bytes.
	swollen = 200 << 20
	// recovery limits the time to release memory. test/bench/flood measures it on an idle machine;
	// here the master competes for the cores with other tests.
	recovery = 3 * time.Minute
	// stuck limits the time until the master answers other clients after a bomb. On two cores
	// shared with thirty other processes, the worst of these bombs delayed the answer by half a
	// second.
	stuck = 30 * time.Second
)

// bomb is one request that is cheap for its sender and expensive for the master.
type bomb struct {
	name string
	by   string
	call func() call
}

func bombs() []bomb {
	login := func(body string, h http.Header) func() call {
		return func() call { return call{"POST", "/api/v1/auth/login", body, h} }
	}
	launch := func(body func() string) func() call {
		return func() call { return call{method: "POST", path: "/api/v1/commands", body: body()} }
	}
	logs := func(query string) func() call {
		return func() call { return call{method: "GET", path: "/api/v1/tasks/{mallory-task}/logs?" + query} }
	}
	return []bomb{
		{"a body that unpacks to a gigabyte", "", func() call {
			return call{"POST", "/api/v1/auth/login", zeros(1 << 30), http.Header{"Content-Encoding": {"gzip"}}}
		}},
		{"a megabyte of brackets", "", login(strings.Repeat("[", 1<<20), nil)},
		{"a megabyte of braces", "", login(strings.Repeat(`{"a":`, 200_000), nil)},
		{"a number of a million digits", "", login(`{"username": `+strings.Repeat("9", 1_000_000)+`}`, nil)},
		{"a number with an endless exponent", "", login(`{"username": 1e999999999}`, nil)},
		{"a name of almost a megabyte", "", login(`{"username": "`+strings.Repeat("n", 1_000_000)+`", "password": "x"}`, nil)},
		{"a password of almost a megabyte", "", login(`{"username": "admin", "password": "`+strings.Repeat("p", 1_000_000)+`"}`, nil)},
		{"a body of 64 MiB for a login", "", func() call {
			return call{method: "POST", path: "/api/v1/auth/login", body: strings.Repeat(" ", 64<<20)}
		}},
		{"a hundred thousand keys", "", login("{"+strings.Repeat(`"k": 1, `, 100_000)+`"username": "a"}`, nil)},
		{"a header of a megabyte", "", login("{}", http.Header{"X-Long": {strings.Repeat("h", 1<<20)}})},
		{"ten thousand headers", "", login("{}", http.Header{"X-Many": strings.Split(strings.Repeat("h,", 10_000), ",")})},
		{"a path of half a megabyte", "", func() call { return call{method: "GET", path: "/api/v1/users/" + strings.Repeat("a", 500_000)} }},
		{"a configuration nested a hundred thousand times", "mallory", launch(func() string {
			return `{"config": {"entrypoint": ["true"], "environment": {"pod_spec": ` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "}}}"
		})},
		{"a pod spec of aliases", "mallory", launch(func() string {
			return document(map[string]any{"config": map[string]any{"entrypoint": []string{"true"}, "environment": map[string]any{"pod_spec": aliases(12)}}})
		})},
		{"an entrypoint of a million words", "mallory", launch(func() string {
			return `{"config": {"entrypoint": ["true"` + strings.Repeat(`, "a"`, 1_000_000) + `]}}`
		})},
		{"a hundred thousand variables", "mallory", launch(func() string {
			return `{"config": {"entrypoint": ["true"], "resources": {"slots": 1000000}, "environment": {"environment_variables": ["A=1"` + strings.Repeat(`, "A=1"`, 100_000) + `]}}}`
		})},
		{"files by the hundred thousand", "mallory", launch(func() string {
			return `{"config": {"entrypoint": ["true"], "resources": {"slots": 1000000}}, "files": [{"path": "a", "type": 48}` + strings.Repeat(`, {"path": "a", "type": 48}`, 100_000) + `]}`
		})},
		{"logs with an endless limit", "mallory", logs("limit=2147483647")},
		{"logs from the end of time", "mallory", logs("timestampAfter=9999-12-31T23:59:59Z")},
		{"logs of ten thousand containers", "mallory", logs(strings.Repeat("containerIds=a&", 5_000))},
		{"logs by an expression that backtracks", "mallory", logs("enableRegex=true&searchText=(a%2B)%2B%24")},
		{"users by an endless name", "mallory", func() call { return call{method: "GET", path: "/api/v1/users?name=" + strings.Repeat("a", 30_000)} }},
		{"users from an endless offset", "mallory", func() call { return call{method: "GET", path: "/api/v1/users?offset=2147483647&limit=2147483647"} }},
		{"users from before the first", "mallory", func() call { return call{method: "GET", path: "/api/v1/users?offset=-2147483648"} }},
		{"agents in an order that there is not", "mallory", func() call { return call{method: "GET", path: "/api/v1/agents?sortBy=" + strings.Repeat("x", 10_000)} }},
	}
}

// bombAttempts try to make the master unavailable to other clients.
func bombAttempts() []attempt {
	var all []attempt
	for _, b := range bombs() {
		by := stranger
		if b.by != "" {
			by = user
		}
		all = append(all, attempt{
			name: "sends " + b.name, who: by, where: process, wants: "to end or stop the master with one request",
			try: func(ctx context.Context, w *world) outcome { return w.bursts(ctx, b) },
		})
	}
	return all
}

// bursts sends a bomb and checks that the master answers and releases its memory.
func (w *world) bursts(ctx context.Context, b bomb) outcome {
	before, err := w.memory()
	if err != nil {
		return isUntried(err)
	}
	c := b.call()
	if b.by != "" {
		c.header = bearing(w.tokens[b.by])
	}
	a, cerr := w.do(ctx, c)
	// Not ctx: compressing the bomb may have used most of the attempt's time.
	others, cancel := context.WithTimeout(context.WithoutCancel(ctx), stuck)
	defer cancel()
	if _, err := w.do(others, call{method: "GET", path: "/api/v1/me", header: bearing(w.tokens["alice"])}); err != nil {
		return isSucceeded("the master does not answer: %v", err)
	}
	after, err := w.memory()
	for end := time.Now().Add(recovery); err == nil && after-before > swollen && time.Now().Before(end); after, err = w.memory() {
		<-time.After(time.Second)
	}
	if err != nil {
		return isSucceeded("the master is gone: %v", err)
	}
	return gained(after-before > swollen, "%d MiB more; %s %v", (after-before)>>20, a, cerr)
}

// memory returns the resident memory of the master in bytes.
func (w *world) memory() (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", w.cluster.Master.Process.Pid))
	if err != nil {
		return 0, err
	}
	var size, resident int
	_, err = fmt.Sscan(string(text), &size, &resident)
	return resident * os.Getpagesize(), err
}

// zeros returns a gzip archive of n zero bytes, written in parts of 16 MiB.
func zeros(n int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	part := make([]byte, 16<<20)
	_, _ = z.Write(part) // a buffer never fails
	_ = z.Close()        // as above
	return strings.Repeat(b.String(), n/len(part))
}

// aliases returns a YAML document in which each of the given number of lines multiplies the size by
// ten.
func aliases(lines int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range lines {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return b.String()
}

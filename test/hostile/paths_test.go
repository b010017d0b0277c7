package hostile_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"

	"github.com/det-deploy/det-deploy/master/server"
)

// trick is a raw request whose spelling of path, method or headers might evade a check. {token} is
// mallory's.
type trick struct{ name, text string }

const (
	openTail = " HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
	userTail = " HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
)

// spellings returns ways to write a path below /api/v1/.
func spellings(path string) map[string]string {
	first, rest := path[:1], path[1:]
	return map[string]string{
		"two slashes before":            "//api/v1/" + path,
		"two slashes within":            "/api//v1//" + path,
		"a slash after":                 "/api/v1/" + path + "/",
		"many slashes after":            "/api/v1/" + path + "////",
		"a slash after, escaped":        "/api/v1/" + path + "%2f",
		"a slash within, escaped":       "/api%2fv1%2f" + path,
		"capitals":                      "/API/V1/" + strings.ToUpper(path),
		"a letter escaped":              "/api/v1/%" + hexOf(first[0]) + rest,
		"a letter escaped twice":        "/api/v1/%25" + hexOf(first[0]) + rest,
		"a dot":                         "/api/v1/./" + path,
		"two dots after what is open":   "/api/v1/master/../" + path,
		"two dots, escaped":             "/api/v1/master/%2e%2e/" + path,
		"two dots and a slash, escaped": "/api/v1/master/..%2f" + path,
		"two dots after a file":         "/info/../api/v1/" + path,
		"a backslash":                   "/api/v1\\" + path,
		"a parameter in the path":       "/api/v1/" + path + ";a=b",
		"a NUL":                         "/api/v1/" + path + "%00",
		"an ending":                     "/api/v1/" + path + ".json",
		"a whole address":               "http://{host}/api/v1/" + path,
		"a whole address of another":    "http://admin@localhost/api/v1/" + path,
		"another version":               "/api/v2/" + path,
		"no version":                    "/api/" + path,
	}
}

const digits = "0123456789abcdef"

func hexOf(b byte) string { return string([]byte{digits[b>>4], digits[b&15]}) }

// headers are false claims in headers.
var headers = map[string]string{
	"a user in a header":            "X-Forwarded-User: admin\r\nRemote-User: admin\r\nX-Remote-User: admin",
	"an address of its own":         "X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\nForwarded: for=127.0.0.1",
	"another path in a header":      "X-Original-URL: /info\r\nX-Rewrite-URL: /info",
	"an empty cookie":               "Cookie: auth=",
	"a cookie of null":              "Cookie: auth=null",
	"a token of null":               "Authorization: Bearer null",
	"two tokens":                    "Authorization: Bearer a\r\nAuthorization: Bearer b",
	"a token in a gateway's header": "Grpc-Metadata-Authorization: Bearer admin",
	"an upgrade":                    "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
	"a folded header":               "X-A: b\r\n Authorization: Bearer admin",
	"an internal name":              "Grpc-Metadata-Internal: true\r\nX-Internal: 1",
}

// pathAttempts try to evade authentication.
func pathAttempts() []attempt {
	var all []attempt
	add := func(by who, wants string, tricks []trick, has string, proof *control) {
		for _, k := range tricks {
			all = append(all, attempt{
				name: string(by) + ": " + k.name, who: by, where: anywhere, wants: wants, control: proof,
				try: func(ctx context.Context, w *world) outcome { return w.exposes(ctx, k.text, has) },
			})
		}
	}
	users := shows("the list of users", "alice", "/api/v1/users", `"username"`)
	config := shows("the master's configuration", "admin", "/api/v1/master/config", `"config"`)
	for _, m := range []struct {
		by    who
		path  string
		tail  string
		has   string
		proof *control
	}{{stranger, "users", openTail, `"username"`, users}, {user, "master/config", userTail, `"config"`, config}} {
		var paths, methods []trick
		for name, path := range spellings(m.path) {
			paths = append(paths, trick{"a path with " + name, "GET " + path + m.tail})
		}
		for _, method := range []string{"HEAD", "OPTIONS", "get", "TRACE", "CONNECT", "PROPFIND", "POST", "PUT", "GETS"} {
			methods = append(methods, trick{"the method " + method, method + " /api/v1/" + m.path + m.tail})
		}
		for _, name := range []string{"X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"} {
			methods = append(methods, trick{"the header " + name, "POST /api/v1/" + m.path + strings.Replace(m.tail, "\r\n", "\r\n"+name+": GET\r\n", 1)})
		}
		for name, lines := range headers {
			methods = append(methods, trick{"a header with " + name, "GET /api/v1/" + m.path + strings.Replace(m.tail, "\r\n", "\r\n"+lines+"\r\n", 1)})
		}
		add(m.by, "a call by another spelling of its path", paths, m.has, m.proof)
		add(m.by, "a call by another method or a header", methods, m.has, m.proof)
	}
	add(stranger, "a request smuggled inside another", smuggled, `"username"`, users)
	add(stranger, "files of the master by a path", traversals(), "root:x:", nil)
	add(stranger, "what a program shows for debugging", []trick{
		{"profiles", "GET /debug/pprof/" + openTail},
		{"a heap", "GET /debug/pprof/heap?debug=1" + openTail},
		{"variables", "GET /debug/vars" + openTail},
		{"a goroutine dump", "GET /debug/pprof/goroutine?debug=2" + openTail},
	}, "HTTP/1.1 200", nil)
	return all
}

// exposes reports success if the response to a raw request contains a text.
func (w *world) exposes(ctx context.Context, text, has string) outcome {
	got, err := w.raw(ctx, strings.ReplaceAll(text, "{token}", w.tokens["mallory"]))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return isUntried(err)
	}
	if err != nil {
		return isRefused("no answer: %v", err) // the controls show that the address answers
	}
	return gained(strings.Contains(got, has), "%.300s", got)
}

// shows checks that an authorized user finds a text in the response.
func shows(name, by, path, has string) *control {
	return &control{name, func(ctx context.Context, w *world) outcome {
		got, err := w.raw(ctx, "GET "+path+strings.ReplaceAll(userTail, "{token}", w.tokens[by]))
		if err != nil {
			return isUntried(err)
		}
		return gained(strings.Contains(got, has), "%.300s", got)
	}}
}

// smuggled are requests whose end two programs may see at different positions. The second request
// must be authenticated like any other.
var smuggled = []trick{
	{"two lengths", "POST /api/v1/auth/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nGET /api/v1/users" + openTail},
	{"a length and chunks", "POST /api/v1/auth/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/v1/users" + openTail},
	{"chunks of an odd name", "POST /api/v1/auth/login HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET /api/v1/users" + openTail},
	{"chunks twice", "POST /api/v1/auth/login HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nGET /api/v1/users" + openTail},
	{"a chunk of a negative size", "POST /api/v1/auth/login HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\nGET /api/v1/users" + openTail},
	{"a body on GET", "GET /info HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\nGET /api/v1/users" + openTail},
	{"a header with a space before its colon", "POST /api/v1/auth/login HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /api/v1/users" + openTail},
	{"the first version of HTTP", "GET /api/v1/users\r\n\r\n"},
	{"no host", "GET /api/v1/users HTTP/1.0\r\n\r\n"},
}

// traversals try to leave the directories of served files.
func traversals() []trick {
	var all []trick
	for _, root := range []string{"/binaries/", "/binaries/linux-amd64/", "/static/", "/det/", "/docs/", "/proxy/", "/api/v1/tasks/", "/metrics/", "/"} {
		for name, climb := range map[string]string{
			"dots": "../../../../../../../../etc/passwd", "escaped dots": "%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
			"escaped slashes": "..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd", "an absolute path": "/etc/passwd",
			"doubled dots": "....//....//....//....//....//etc/passwd", "a file address": "file:///etc/passwd",
		} {
			all = append(all, trick{name + " below " + root, "GET " + root + climb + openTail})
		}
	}
	return all
}

// siteAttempts are made by pages of other sites in the browser of alice.
func siteAttempts() []attempt {
	renamed := &control{"alice renames herself with her cookie", func(ctx context.Context, w *world) outcome {
		return w.carryOut(ctx, call{"PATCH", "/api/v1/users/{alice}", `{"displayName": "Alice"}`, http.Header{
			"Cookie": {"auth=" + w.tokens["alice"]}, "Sec-Fetch-Site": {"same-origin"}, "X-Csrf-Token": {server.CSRFToken(w.tokens["alice"])},
		}})
	}}
	var all []attempt
	for name, h := range map[string]http.Header{
		"with its origin":                   {"Origin": {"http://evil.example"}},
		"with no origin":                    {"Origin": {"null"}},
		"of a sister site":                  {"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://other.127.0.0.1.nip.io"}},
		"that the browser calls cross-site": {"Sec-Fetch-Site": {"cross-site"}},
		"of a site whose name begins alike": {"Origin": {"http://127.0.0.1.evil.example"}},
		"over TLS, from the same name":      {"Origin": {"https://127.0.0.1:1"}},
		"from another port":                 {"Origin": {"http://127.0.0.1:1"}},
		"of a service, at the same name":    {"Sec-Fetch-Site": {"same-origin"}, "Sec-Fetch-Mode": {"cors"}},
		"as a form":                         {"Origin": {"http://evil.example"}, "Content-Type": {"text/plain"}},
		"as a form, encoded":                {"Origin": {"http://evil.example"}, "Content-Type": {"application/x-www-form-urlencoded"}},
	} {
		h.Set("Cookie", "auth={cookie}")
		for path, method := range map[string]string{
			"/api/v1/users/{alice}": "PATCH", "/api/v1/commands/{command}/set_priority": "POST",
		} {
			all = append(all, attempt{
				name: method + " " + path + " by a page " + name, who: visitor, where: anywhere, wants: "a change with the user's cookie", control: renamed,
				try: func(ctx context.Context, w *world) outcome {
					h := h.Clone()
					h.Set("Cookie", "auth="+w.tokens["alice"])
					return w.carryOut(ctx, call{method, path, `{"displayName": "forged", "priority": 44}`, h})
				},
			})
		}
		all = append(all, attempt{
			name: "GET /api/v1/users by a page " + name, who: visitor, where: anywhere, wants: "to read an answer with the user's cookie", control: renamed,
			try: func(ctx context.Context, w *world) outcome {
				h := h.Clone()
				h.Set("Cookie", "auth="+w.tokens["alice"])
				a, err := w.do(ctx, call{"GET", "/api/v1/users", "", h})
				if err != nil {
					return isUntried(err)
				}
				return gained(a.header.Get("Access-Control-Allow-Origin") != "", "%v", a.header)
			},
		})
	}
	return all
}

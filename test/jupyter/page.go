// Package jupyter uses a notebook in a test, as a browser does. Only tests may import it.
package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/test/installed"
)

// Settings configures notebooks that find JupyterLab in the environment of make setup.
func Settings(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf(`resources: {slots: 0}
environment: {environment_variables: ["PATH=%[1]s/bin:/usr/local/bin:/usr/bin:/bin"]}
bind_mounts: [{host_path: %[1]s, container_path: %[1]s, read_only: true}] # isolated tasks have a /tmp of their own
`, installed.Environment(t, "JupyterLab", "notebook", "jupyter-lab"))
}

var address = regexp.MustCompile(`Connect to remote Jupyter server: (\S+?)(?:\x1b|\s|$)`)

// Address returns the address of a notebook for other programs, which the det client prints when it has
// started one.
func Address(t testing.TB, out string) string {
	t.Helper()
	found := address.FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("got %s, want the address of the notebook", out)
	}
	return found[1]
}

// Page is a browser with an open notebook. It keeps everything that its user sees.
type Page struct {
	t      testing.TB
	base   string
	client *http.Client
	seen   strings.Builder
}

// Open opens the address that the det client prints.
func Open(t testing.TB, address string) *Page {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &Page{t: t, client: &http.Client{Jar: jar}}
	before, _, _ := strings.Cut(address, "?")
	p.base = before
	status, body := p.do(http.MethodGet, address, "", true)
	if status != http.StatusOK || !strings.Contains(body, "jupyter-config-data") {
		t.Fatalf("got status %d and %.300s, want JupyterLab", status, body)
	}
	return p
}

// do sends a request, with the token against forged requests if own is set.
func (p *Page) do(method, address, body string, own bool) (status int, answer string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range p.client.Jar.Cookies(r.URL) {
		if c.Name == "_xsrf" && own {
			r.Header.Set("X-Xsrftoken", c.Value)
		}
	}
	res, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	fmt.Fprintln(&p.seen, res.Header, string(b))
	return res.StatusCode, string(b)
}

// call sends a request to Jupyter's API, and reads the answer into out.
func (p *Page) call(method, path, body string, out any) {
	p.t.Helper()
	status, answer := p.do(method, p.base+"api/"+path, body, true)
	if status >= http.StatusBadRequest {
		p.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	if err := json.Unmarshal([]byte(answer), out); err != nil {
		p.t.Fatal(err)
	}
}

// connect opens the websocket of a kernel.
func (p *Page) connect(ctx context.Context, kernel string) *websocket.Conn {
	p.t.Helper()
	u, err := url.Parse(p.base)
	if err != nil {
		p.t.Fatal(err)
	}
	//nolint:bodyclose // the library closes the body, or replaces it by one in memory
	ws, _, err := websocket.Dial(ctx, p.base+"api/kernels/"+kernel+"/channels", &websocket.DialOptions{
		HTTPClient: p.client, HTTPHeader: http.Header{"Origin": {u.Scheme + "://" + u.Host}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(1 << 20)
	return ws
}

// runCell runs a cell, and returns what it prints.
func (p *Page) runCell(ctx context.Context, ws *websocket.Conn, code string) (printed string) {
	p.t.Helper()
	message, _ := json.Marshal(map[string]any{ // texts can always be encoded
		"channel": "shell", "parent_header": map[string]any{}, "metadata": map[string]any{},
		"header":  map[string]any{"msg_id": "1", "session": "s", "username": "", "version": "5.3", "msg_type": "execute_request"},
		"content": map[string]any{"code": code, "silent": false, "store_history": false, "user_expressions": map[string]any{}, "allow_stdin": false},
	})
	if err := ws.Write(ctx, websocket.MessageText, message); err != nil {
		p.t.Fatal(err)
	}
	for {
		_, data, err := ws.Read(ctx)
		if err != nil {
			p.t.Fatalf("%v after %q", err, printed)
		}
		p.seen.Write(data)
		var m struct {
			Channel string
			Header  struct {
				Type string `json:"msg_type"`
			}
			Content struct {
				Text  string
				State string `json:"execution_state"`
			}
		}
		if err := json.Unmarshal(data, &m); err != nil {
			p.t.Fatal(err)
		}
		printed += m.Content.Text
		if m.Header.Type == "status" && m.Content.State == "idle" && strings.HasSuffix(printed, "end of the cell\n") {
			return printed
		}
	}
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/rest"
)

// notebookSettings configures notebooks that find JupyterLab in the environment of make setup.
func notebookSettings(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf(`resources: {slots: 0}
environment: {environment_variables: ["PATH=%[1]s/bin:/usr/local/bin:/usr/bin:/bin"]}
bind_mounts: [{host_path: %[1]s, container_path: %[1]s, read_only: true}] # isolated tasks have a /tmp of their own
`, installed.Environment(t, "JupyterLab", "notebook", "jupyter-lab"))
}

// page is a browser with an open notebook. It keeps everything that its user sees.
type page struct {
	t      *testing.T
	base   string
	client *http.Client
	seen   strings.Builder
}

// openPage opens the address that the det client prints.
func openPage(t *testing.T, address string) *page {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, client: &http.Client{Jar: jar}}
	before, _, _ := strings.Cut(address, "?")
	p.base = before
	status, body := p.do(http.MethodGet, address, "", true)
	if status != http.StatusOK || !strings.Contains(body, "jupyter-config-data") {
		t.Fatalf("got status %d and %.300s, want JupyterLab", status, body)
	}
	return p
}

// do sends a request, with the token against forged requests if own is set.
func (p *page) do(method, address, body string, own bool) (status int, answer string) {
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
func (p *page) call(method, path, body string, out any) {
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
func (p *page) connect(ctx context.Context, kernel string) *websocket.Conn {
	p.t.Helper()
	u, err := url.Parse(p.base)
	if err != nil {
		p.t.Fatal(err)
	}
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
func (p *page) runCell(ctx context.Context, ws *websocket.Conn, code string) (printed string) {
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

// cell prints what a task can read of the keys of its notebook, and saves a file.
const cell = `import glob, os, subprocess
open("saved.txt", "w").write("kept by the cell")
print("product", 6 * 7)
for f in glob.glob(os.environ["DET_RUN_DIR"] + "/jupyter/*.*"):
    print(open(f).read())
print({k: v for k, v in os.environ.items() if not k.startswith("DET_")})
print(open("/proc/%d/cmdline" % os.getppid()).read(), open("/proc/%d/environ" % os.getppid()).read().replace(os.environ["DET_SESSION_TOKEN"], "").replace(os.environ["DET_USER_TOKEN"], ""))
print("end of the cell")
`

var (
	serverAddress      = regexp.MustCompile(`Connect to remote Jupyter server: (\S+?)(?:\x1b|\s|$)`)
	interactiveAddress = regexp.MustCompile(`http://\S+/det/interactive/\S+?currentSlotsExceeded=false`)
	keyHash            = regexp.MustCompile(`"key_sha256": ?"([0-9a-f]{64})"`)
	possibleKey        = regexp.MustCompile(`[0-9a-f]{64}`)
)

// TestNotebooksOfTheDetClient uses a real JupyterLab as a browser does.
func TestNotebooksOfTheDetClient(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	config := filepath.Join(t.TempDir(), "notebook.yaml")
	text := notebookSettings(t) + "idle_timeout: 10\nnotebook_idle_type: kernel_connections\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\ntrust_users: true\nartificial_slots: 1\n"})
	c.StartMaster()
	c.StartAgent("a")
	admin := dettest.Login(t, c.URL, "admin", password)
	out := admin.Want([]string{"notebook", "start", "--no-browser", "--config-file", config}, "is ready", "/det/interactive/")
	address := serverAddress.FindStringSubmatch(out)
	id := taskID.FindString(out)
	if address == nil {
		t.Fatalf("got %s, want the address of the notebook", out)
	}
	p := openPage(t, address[1])
	openPage(t, interactiveAddress.FindString(out))
	p.useNotebook()
	p.checkSecrets()
	strangersStayOutside(t, c, id)

	c.Eventually("the notebook is ended, because its page is closed", 2*time.Minute, func() error {
		if out := admin.OK("", "notebook", "list"); !strings.Contains(out, "ended after 10s without use (idle_timeout)") {
			return fmt.Errorf("it is not: %s", out)
		}
		return nil
	})
	admin.Want([]string{"notebook", "logs", id}, "Service of JupyterLab", "Nobody uses this notebook: it will be ended in 5s", "all its files are lost when it ends")

	c.Login()
	config = filepath.Join(t.TempDir(), "forever.yaml")
	if err := os.WriteFile(config, []byte(notebookSettings(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	second := taskID.FindString(admin.OK("", "notebook", "start", "--detach", "--config-file", config))
	c.Eventually("another notebook is ready", time.Minute, func() error {
		if out := admin.OK("", "notebook", "logs", second); !strings.Contains(out, "Service of JupyterLab") {
			return fmt.Errorf("it is not: %s", out)
		}
		return nil
	})
	if out := c.Run("task", "list"); !strings.Contains(out, second) {
		t.Errorf("got %s, want the notebook", out)
	}
	openPage(t, strings.TrimSpace(c.Run("task", "open", second)))
	c.Run("task", "kill", second)
	c.Eventually("the notebook is killed", time.Minute, func() error {
		if out := admin.OK("", "notebook", "list"); !strings.Contains(out, "killed by user admin") {
			return fmt.Errorf("it is not: %s", out)
		}
		return nil
	})

	bare := taskID.FindString(admin.OK("", "notebook", "start", "--detach", "--config", "resources.slots=0"))
	c.Eventually("a notebook without JupyterLab ends", time.Minute, func() error {
		if out := admin.OK("", "notebook", "logs", bare); !strings.Contains(out, "JupyterLab is not installed here") || strings.Contains(out, "Traceback") {
			return fmt.Errorf("it does not: %s", out)
		}
		return nil
	})
}

// useNotebook runs a cell, and reads the file that it saves and another one. The connections end with it.
func (p *page) useNotebook() {
	p.t.Helper()
	if status, answer := p.do(http.MethodPost, p.base+"api/kernels", "", false); status != http.StatusForbidden {
		p.t.Errorf("got status %d and %s for a request of another page, want it refused", status, answer)
	}
	var kernel struct{ ID string }
	p.call(http.MethodPost, "kernels", `{"name":"python3"}`, &kernel)
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	ws := p.connect(ctx, kernel.ID)
	if got := p.runCell(ctx, ws, cell); !strings.Contains(got, "product 42") {
		p.t.Errorf("got %q, want the output of the cell", got)
	}
	if err := ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		p.t.Logf("close the connection: %v", err)
	}
	var file struct{ Content string }
	if p.call(http.MethodGet, "contents/saved.txt", "", &file); file.Content != "kept by the cell" {
		p.t.Errorf("got %q, want the file that the cell saved", file.Content)
	}
	p.call(http.MethodPut, "contents/other.txt", `{"type":"file","format":"text","content":"kept by the page"}`, &struct{}{})
	if p.call(http.MethodGet, "contents/other.txt", "", &file); file.Content != "kept by the page" {
		p.t.Errorf("got %q, want the file that the page saved", file.Content)
	}
}

// checkSecrets checks that the visitor has seen no key of Jupyter and no token of the cluster, although the cell
// shows all that the notebook can read. Some words are the ticket's, in the cookie that the visitor sends.
func (p *page) checkSecrets() {
	p.t.Helper()
	seen := p.seen.String()
	hash := keyHash.FindStringSubmatch(strings.ReplaceAll(seen, `\"`, `"`))
	if hash == nil {
		p.t.Fatal("the cell does not show the hash of the key")
	}
	for _, found := range possibleKey.FindAllString(seen, -1) {
		if sum := sha256.Sum256([]byte(found)); hex.EncodeToString(sum[:]) == hash[1] {
			p.t.Error("the visitor sees the key of Jupyter")
		}
	}
	for _, of := range []string{"ddticket", "dduser", "ddtask"} {
		if at := strings.Index(seen, of); at >= 0 {
			p.t.Errorf("the visitor sees a token of the cluster: %.100q", seen[max(0, at-60):])
		}
	}
}

// strangersStayOutside checks that other users cannot visit a notebook.
func strangersStayOutside(t *testing.T, c *cluster, id string) {
	t.Helper()
	other := &rawAPI{t: t, url: c.URL}
	var session struct{ Token string }
	if err := json.Unmarshal(other.retry("POST", "/api/v1/auth/login", `{"username":"determined","password":"`+password+`"}`), &session); err != nil {
		t.Fatal(err)
	}
	other.token = session.Token
	if _, err := other.do("GET", "/proxy/"+id+"/api/status", ""); err == nil || !strings.Contains(err.Error(), "is for the owner of its task") {
		t.Errorf("got %v for another user, want a refusal", err)
	}
	shown, err := other.do("GET", "/api/v1/notebooks/"+id, "")
	if err != nil || strings.Contains(string(shown), "token") || strings.Contains(string(shown), "PATH=") {
		t.Errorf("got %s and %v, want neither a ticket nor the configuration", shown, err)
	}
}

package jupyter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/coder/websocket"
)

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
	keyHash     = regexp.MustCompile(`"key_sha256": ?"([0-9a-f]{64})"`)
	possibleKey = regexp.MustCompile(`[0-9a-f]{64}`)
)

// Use runs a cell, and reads the file that it saves and another one. The connections end with it.
func (p *Page) Use() {
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

// CheckSecrets checks that the visitor has seen no key of Jupyter and no token of the cluster, although the cell
// shows all that the notebook can read. Some words are the ticket's, in the cookie that the visitor sends.
func (p *Page) CheckSecrets() {
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

package into_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/rest"
)

// A page of a task gains nothing of its visitor, who is logged in and has visited another service.
func TestHostilePage(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	for name, row := range map[string]struct {
		// origin and site are those of services and of pages, with the port of the master for %s.
		origin, site string
		// known are the attempts that succeed, as docs/web-pages.md says.
		known string
	}{
		"as on a local cluster": {"http://127.0.0.1:%s", "http://localhost:%s", "read another service"},
		"a name for each":       {"http://*.localhost:%s", "http://127.0.0.1:%s", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := installed.Program(t, "chromium")
			w := &world{Cluster: clustertest.New(t, clustertest.Config{Agent: "container_runtime: process\ntrust_users: true\n"})}
			at, err := url.Parse(w.URL)
			if err != nil {
				t.Fatal(err)
			}
			w.setOrigin(fmt.Sprintf(row.origin, at.Port()))
			w.begin()
			v := openVisitor(t, program, fmt.Sprintf(row.site, at.Port()))
			for attempt, gained := range v.suffer(w.serve(false), w.serve(false)) {
				if gained != "" != (attempt == row.known) {
					t.Errorf("%s: the page gained %q", attempt, gained)
				}
			}
			v.keepsItsLogin()
			if list := w.Run("task", "list", "--all"); strings.Contains(list, "started-by-a-page") {
				t.Errorf("the page has started a task:\n%s", list)
			}
		})
	}
}

func (w *world) setOrigin(origin string) {
	w.T.Helper()
	file, err := os.ReadFile(filepath.Join(w.Dir, "master.yaml"))
	if err != nil {
		w.T.Fatal(err)
	}
	w.Write("master.yaml", string(file)+"proxy: {origin: \""+origin+"\"}\n")
}

// visitor is a user with Chromium.
type visitor struct {
	t    *testing.T
	site string
	ctx  context.Context //nolint:containedctx // it is the tab
}

func openVisitor(t *testing.T, program, site string) *visitor {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-popup-blocking", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	v := &visitor{t: t, site: site, ctx: ctx}
	v.do(v.ctx, chromedp.Navigate(site+"/det/login"),
		chromedp.SetValue(chromedp.CSS(`[name="username"]`), "admin"), chromedp.SetValue(chromedp.CSS(`[name="password"]`), clustertest.Password),
		chromedp.Click(chromedp.Search(`//button[normalize-space()="Log in"]`)))
	v.await(v.ctx, `document.body && document.body.innerText.includes("Log out") ? "{}" : ""`)
	// The cookie of the API, which opens the addresses of services.
	body := fmt.Sprintf(`{"username": "admin", "password": %q}`, clustertest.Password)
	code, err := chromedp.Run(v.ctx, chromedp.Evaluate[int](fmt.Sprintf(`fetch("/api/v1/auth/login", {method: "POST", body: %q}).then(r => r.status)`, body), chromedp.EvalAwaitPromise))
	if err != nil || code != http.StatusOK {
		t.Fatalf("log in to the API: %d, %v", code, err)
	}
	return v
}

func (v *visitor) do(ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		v.t.Fatal(err)
	}
}

// await returns the result of a script, which is JSON, once it is not empty.
func (v *visitor) await(ctx context.Context, script string) (out map[string]string) {
	v.t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) {
		said, err := chromedp.Run(ctx, chromedp.Evaluate[string](script)) // it fails while a page is loaded
		if err == nil && said != "" {
			if err := json.Unmarshal([]byte(said), &out); err != nil {
				v.t.Fatal(err)
			}
			return out
		}
		if time.Now().After(deadline) {
			at, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + " " + document.body.innerText`))
			v.t.Fatalf("%s: not within %s (%v) at %s", script, patience, err, at)
		}
	}
}

// suffer visits two services, from a page of the cluster, and returns what the page of the second one gained.
func (v *visitor) suffer(s, other service) map[string]string {
	v.t.Helper()
	v.do(v.ctx, chromedp.Navigate(v.site+other.path("")))
	there, err := chromedp.Run(v.ctx, chromedp.Evaluate[string](`document.body.innerText + location.href`))
	there, answers := strings.CutPrefix(there, "hello")
	if err != nil || !answers || strings.HasPrefix(there, v.site) {
		v.t.Fatalf("got %s, %v, want a service at another host name", there, err)
	}
	v.do(v.ctx, chromedp.Navigate(v.site+"/det/"))
	opened := chromedp.WaitNewTarget(v.ctx, func(i *target.Info) bool { return i.URL != "" })
	query := url.Values{"site": {v.site}, "other": {there}}.Encode()
	if _, err := chromedp.Run(v.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`!window.open(%q) || true`, v.site+s.path("page?"+query)))); err != nil {
		v.t.Fatal(err)
	}
	select {
	case id := <-opened:
		ctx, end := chromedp.NewContext(v.ctx, chromedp.WithTargetID(id))
		v.t.Cleanup(end)
		return v.await(ctx, `window.gained ? JSON.stringify(window.gained) : ""`)
	case <-time.After(patience):
		v.t.Fatal("no tab is opened")
		return nil
	}
}

// keepsItsLogin fails the test if a cookie was planted at the host of the pages, or the login is lost.
func (v *visitor) keepsItsLogin() {
	v.t.Helper()
	v.do(v.ctx, chromedp.Navigate(v.site+"/det/"))
	v.await(v.ctx, `document.body.innerText.includes("Log out") ? "{}" : ""`)
	v.do(v.ctx, chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		list, err := cdp.Call(ctx, to, network.GetCookies, network.GetCookiesParams{URLs: []string{v.site + "/det/", v.site + "/api/v1/me"}})
		for _, c := range list.Cookies {
			if c.Value == "planted" {
				v.t.Errorf("the cookie %s is planted at %s%s", c.Name, c.Domain, c.Path)
			}
		}
		return err
	}))
}

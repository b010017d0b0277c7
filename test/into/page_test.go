package into_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/det-deploy/det-deploy/test/browser"
	"github.com/det-deploy/det-deploy/test/clustertest"
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
			w := &world{Cluster: clustertest.New(t, clustertest.Config{Agent: "container_runtime: process\ntrust_users: true\n"})}
			at, err := url.Parse(w.URL)
			if err != nil {
				t.Fatal(err)
			}
			w.setOrigin(fmt.Sprintf(row.origin, at.Port()))
			w.begin()
			site := fmt.Sprintf(row.site, at.Port())
			tb := browser.Open(t, site).Tab(t)
			tb.Expect("") // services have other addresses
			tb.LogIn()
			logInToAPI(t, tb)
			for attempt, gained := range suffer(t, tb, site, w.serve(false), w.serve(false)) {
				if gained != "" != (attempt == row.known) {
					t.Errorf("%s: the page gained %q", attempt, gained)
				}
			}
			keepsItsLogin(tb, site)
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

// logInToAPI sets the cookie of the API, which opens the addresses of services.
func logInToAPI(t *testing.T, tb *browser.Tab) {
	t.Helper()
	body := fmt.Sprintf(`{"username": "admin", "password": %q}`, clustertest.Password)
	if code := browser.Evaluate[int](tb, fmt.Sprintf(`fetch("/api/v1/auth/login", {method: "POST", body: %q}).then(r => r.status)`, body)); code != http.StatusOK {
		t.Fatalf("log in to the API: %d", code)
	}
}

// suffer visits two services, from a page of the cluster, and returns what the page of the second one gained.
func suffer(t *testing.T, tb *browser.Tab, site string, s, other service) map[string]string {
	t.Helper()
	tb.Visit(other.path(""))
	tb.Await("hello")
	there := tb.Path()
	if strings.HasPrefix(there, "/") {
		t.Fatalf("got %s, want a service at another host name", there)
	}
	tb.Visit("/det/")
	query := url.Values{"site": {site}, "other": {there}}.Encode()
	page := tb.Popup(fmt.Sprintf(`window.open(%q)`, site+s.path("page?"+query)))
	page.Expect("")
	page.WaitUntil(`window.gained`)
	return browser.Evaluate[map[string]string](page, `window.gained`)
}

// keepsItsLogin fails the test if a cookie was planted at the host of the pages, or the login is lost.
func keepsItsLogin(tb *browser.Tab, site string) {
	tb.Visit("/det/")
	tb.Await("Log out")
	tb.Do(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		list, err := cdp.Call(ctx, to, network.GetCookies, network.GetCookiesParams{URLs: []string{site + "/det/", site + "/api/v1/me"}})
		for _, c := range list.Cookies {
			if c.Value == "planted" {
				return fmt.Errorf("the cookie %s is planted at %s%s", c.Name, c.Domain, c.Path)
			}
		}
		return err
	}))
}

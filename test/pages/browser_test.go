package pages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/installed"
)

// browser is Chromium, with the session of a visitor once they have logged in.
type browser struct {
	url string
	ctx context.Context
	// axe is the script of axe-core.
	axe string
}

// openBrowser starts Chromium for the pages of a master.
func openBrowser(t *testing.T, url string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(installed.Program(t, "chromium")), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	axe, err := os.ReadFile(installed.File(t, "axe-core", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return &browser{url, ctx, string(axe)}
}

// tab is a tab of the browser. A test fails if its console has an error or if it sends a request to another
// site.
type tab struct {
	t   *testing.T
	b   *browser
	ctx context.Context

	mu sync.Mutex // guards problems and expected
	// problems are the errors in the console and the requests to other sites.
	problems []string
	// expected is a part of the errors that the test expects.
	expected string
}

func (b *browser) open(t *testing.T) *tab {
	t.Helper()
	tb := &tab{t: t, b: b}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithListener(tb.note))
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	t.Cleanup(stop)
	tb.ctx = ctx
	t.Cleanup(func() {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, p := range tb.problems {
			if tb.expected == "" || !strings.Contains(p, tb.expected) {
				t.Error(p)
			}
		}
	})
	call(tb, network.Enable, network.EnableParams{})
	call(tb, log.Enable, cdp.Empty{})
	return tb
}

// call sends a command of the protocol.
func call[P, R any](tb *tab, command cdp.Command[P, R], p P) {
	tb.t.Helper()
	send := func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, command, p)
		return err
	}
	tb.do(chromedp.Func(send))
}

// expect ignores errors in the console that contain the text.
func (tb *tab) expect(text string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.expected = text
}

// note records an event of the tab if it is a problem.
func (tb *tab) note(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprintf("exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			problem = fmt.Sprintf("console: %s %v", e.Type, e.Args)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			problem = fmt.Sprintf("console: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if to := e.Request.URL; !strings.HasPrefix(to, tb.b.url+"/") && !strings.HasPrefix(to, "data:") {
			problem = "request to another site: " + to
		}
	}
	if problem != "" {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		tb.problems = append(tb.problems, problem)
	}
}

func (tb *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, actions...); err != nil {
		tb.t.Fatal(err)
	}
}

// visit opens a page and waits until it is loaded.
func (tb *tab) visit(path string) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, chromedp.Navigate(tb.b.url+path)); err != nil {
		tb.t.Fatalf("open %s: %v", path, err)
	}
}

// withoutScript opens the next pages without script.
func (tb *tab) withoutScript() {
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// look sets the width of the window and the theme of the visitor.
func (tb *tab) look(width int64, theme string) {
	tb.do(chromedp.EmulateViewport(width, 800))
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
}

// path returns the path and query of the page.
func (tb *tab) path() string {
	tb.t.Helper()
	return strings.TrimPrefix(evaluate[string](tb, `location.href`), tb.b.url)
}

// await waits until the page contains all texts.
func (tb *tab) await(texts ...string) {
	tb.t.Helper()
	for {
		last, err := chromedp.Run(tb.ctx, chromedp.Evaluate[string](`document.body.innerText`))
		missing := ""
		for _, text := range texts {
			if !strings.Contains(last, text) {
				missing = text
			}
		}
		if err == nil && missing == "" {
			return
		}
		if tb.ctx.Err() != nil {
			tb.t.Fatalf("%q is missing (%v):\n%s", missing, err, last)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// evaluate returns the result of a script in the page.
func evaluate[T any](tb *tab, script string) T {
	tb.t.Helper()
	out, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.t.Fatalf("evaluate: %v", err)
	}
	return out
}

// submit fills fields of a form, and presses the button with the text.
func (tb *tab) submit(button string, fields map[string]string) {
	tb.t.Helper()
	for name, value := range fields {
		tb.do(chromedp.SetValue(chromedp.CSS(`[name="`+name+`"]`), value))
	}
	tb.do(chromedp.Click(chromedp.Search(`//button[normalize-space()="` + button + `"]`)))
}

// logIn logs in as an administrator.
func (tb *tab) logIn() {
	tb.t.Helper()
	tb.visit("/det/login")
	tb.submit("Log in", map[string]string{"username": "admin", "password": clustertest.Password})
	tb.await("Log out")
}

// wantAccessible fails the test for each rule of axe-core that the page breaks.
func (tb *tab) wantAccessible(as string) {
	tb.t.Helper()
	type violation struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	for _, v := range evaluate[[]violation](tb, tb.b.axe+`; axe.run({resultTypes: ["violations"]}).then(r => r.violations)`) {
		for _, n := range v.Nodes {
			tb.t.Errorf("%s: %s (%s): %s\n%s", as, v.Help, v.ID, n.HTML, n.FailureSummary)
		}
	}
	if wide := evaluate[int](tb, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		tb.t.Errorf("%s: the page is %d pixels wider than the window", as, wide)
	}
}

// waitUntil waits until an expression of a script is true.
func (tb *tab) waitUntil(expression string) {
	tb.t.Helper()
	for {
		done, err := chromedp.Run(tb.ctx, chromedp.Evaluate[bool](`Boolean(`+expression+`)`))
		if err == nil && done {
			return
		}
		if tb.ctx.Err() != nil {
			tb.t.Fatalf("never true (%v): %s", err, expression)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// quote returns a text as it is written in a script.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // it is a string
	}
	return string(b)
}

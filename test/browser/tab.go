package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Tab is a tab of the browser. A test fails if its console has an error or if it sends a request to another
// site.
type Tab struct {
	t   *testing.T
	b   *Browser
	ctx context.Context //nolint:containedctx // it is the tab

	mu sync.Mutex // guards problems and expected
	// problems are the errors in the console and the requests to other sites.
	problems []string
	// expected are parts of the problems that the test expects.
	expected []string
}

// Expect ignores the problems that contain one of the texts, of which "" is in all.
func (tb *Tab) Expect(texts ...string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.expected = append(tb.expected, texts...)
}

// AwaitProblem waits for a problem that contains the text, and expects it.
func (tb *Tab) AwaitProblem(text string) {
	tb.t.Helper()
	tb.Expect(text)
	tb.poll(func() (bool, string) {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		seen := slices.ContainsFunc(tb.problems, func(p string) bool { return strings.Contains(p, text) })
		return seen, fmt.Sprintf("no problem contains %q: %q", text, tb.problems)
	})
}

func (tb *Tab) wantNoProblems() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, p := range tb.problems {
		if !slices.ContainsFunc(tb.expected, func(text string) bool { return strings.Contains(p, text) }) {
			tb.t.Error(p)
		}
	}
}

// watch asks for the events that note takes.
func (tb *Tab) watch() {
	tb.t.Helper()
	call(tb, network.Enable, network.EnableParams{})
	call(tb, log.Enable, cdp.Empty{})
}

// note records an event of the tab if it is a problem.
func (tb *Tab) note(event any) {
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
		if to := e.Request.URL; !strings.HasPrefix(to, tb.b.site+"/") && !strings.HasPrefix(to, "data:") {
			problem = "request to another site: " + to
		}
	}
	if problem != "" {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		tb.problems = append(tb.problems, problem)
	}
}

// call sends a command of the protocol.
func call[P, R any](tb *Tab, command cdp.Command[P, R], p P) {
	tb.t.Helper()
	send := func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, command, p)
		return err
	}
	tb.Do(chromedp.Func(send))
}

// Do takes steps of chromedp that must succeed.
func (tb *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, steps...); err != nil {
		tb.t.Fatal(err)
	}
}

// Visit opens a page, which begins with a slash, or one of another site, and waits until it is loaded.
func (tb *Tab) Visit(address string) {
	tb.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = tb.b.site + address
	}
	if err := chromedp.Do(tb.ctx, chromedp.Navigate(address)); err != nil {
		tb.t.Fatalf("open %s: %v", address, err)
	}
}

// Popup returns the tab that a script opens.
func (tb *Tab) Popup(script string) *Tab {
	tb.t.Helper()
	opened := chromedp.WaitNewTarget(tb.ctx, func(i *target.Info) bool { return i.URL != "" })
	Evaluate[bool](tb, script+`; true`)
	select {
	case id := <-opened:
		return tb.b.attach(tb.t, chromedp.WithTargetID(id))
	case <-tb.ctx.Done():
		tb.t.Fatal("no tab is opened")
		return nil
	}
}

// WithoutScript opens the next pages without script.
func (tb *Tab) WithoutScript() {
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// Look sets the width of the window and the theme of the visitor.
func (tb *Tab) Look(width int64, theme string) {
	tb.Do(chromedp.EmulateViewport(width, 800))
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
}

// Path returns the path and query of the page, or its whole address if it is one of another site.
func (tb *Tab) Path() string {
	tb.t.Helper()
	return strings.TrimPrefix(Evaluate[string](tb, `location.href`), tb.b.site)
}

// Evaluate returns the result of a script in the page.
func Evaluate[T any](tb *Tab, script string) T {
	tb.t.Helper()
	out, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.t.Fatalf("evaluate: %v", err)
	}
	return out
}

// Await waits until the page contains all texts.
func (tb *Tab) Await(texts ...string) {
	tb.t.Helper()
	tb.poll(func() (bool, string) {
		shown, err := chromedp.Run(tb.ctx, chromedp.Evaluate[string](`document.body.innerText`)) // it fails while a page is loaded
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false, fmt.Sprintf("%q is missing (%v):\n%s", text, err, shown)
			}
		}
		return err == nil, fmt.Sprint(err)
	})
}

// WaitUntil waits until an expression of a script is true.
func (tb *Tab) WaitUntil(expression string) {
	tb.t.Helper()
	tb.poll(func() (bool, string) {
		done, err := chromedp.Run(tb.ctx, chromedp.Evaluate[bool](`Boolean(`+expression+`)`)) // it fails while a page is loaded
		return err == nil && done, fmt.Sprintf("never true (%v): %s", err, expression)
	})
}

// poll waits until a check succeeds, and fails the test with its complaint if it does not.
func (tb *Tab) poll(check func() (done bool, complaint string)) {
	tb.t.Helper()
	for {
		done, complaint := check()
		if done {
			return
		}
		if tb.ctx.Err() != nil {
			tb.t.Fatal(complaint)
		}
		<-time.After(50 * time.Millisecond)
	}
}

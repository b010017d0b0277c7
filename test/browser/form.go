package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

// LogIn logs in as an administrator of a test's cluster.
func (tb *Tab) LogIn() {
	tb.t.Helper()
	tb.LogInAs("admin", clustertest.Password)
}

// LogInAs logs in as a user.
func (tb *Tab) LogInAs(user, password string) {
	tb.t.Helper()
	tb.Visit("/det/login")
	tb.Submit("Log in", map[string]string{"username": user, "password": password})
	tb.Await("Log out")
}

// Submit fills fields of a form, and presses the button with the text.
func (tb *Tab) Submit(button string, fields map[string]string) {
	tb.t.Helper()
	for name, value := range fields {
		tb.Fill(name, value)
	}
	tb.Press(button)
}

// Fill gives a field, by its name or label, the focus and a value, as if it was typed. A check box is marked by any
// value.
func (tb *Tab) Fill(name, value string) {
	tb.t.Helper()
	field := fmt.Sprintf(`document.querySelector(%s)`, Quote(fmt.Sprintf(`main [name=%[1]q], main [aria-label=%[1]q]`, name)))
	tb.WaitUntil(field)
	Evaluate[bool](tb, `(e => {
		e.focus();
		if (e.type === "checkbox") e.checked = true;
		else e.value = `+Quote(value)+`;
		e.dispatchEvent(new Event("input", {bubbles: true}));
		return e.dispatchEvent(new Event("change", {bubbles: true}));
	})(`+field+`)`)
}

// Press clicks the first button or link with the text or the label.
func (tb *Tab) Press(text string) {
	tb.t.Helper()
	is := `[normalize-space()=` + quoteXPath(text) + ` or @aria-label=` + quoteXPath(text) + `]`
	tb.Do(chromedp.Click(chromedp.Search(`//button` + is + `|//a` + is)))
}

// quoteXPath returns a text as it is written in XPath, which has no escapes.
func quoteXPath(text string) string {
	return `concat("", "` + strings.ReplaceAll(text, `"`, `", '"', "`) + `")`
}

// Quote returns a text as it is written in a script.
func Quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // it is a string
	}
	return string(b)
}

// mostStops is the number of times that a visitor presses the tab key to come to a link or button.
const mostStops = 200

// TabTo moves the focus with the tab key to the button, link or field with the text or the label.
func (tb *Tab) TabTo(text string) {
	tb.t.Helper()
	var seen []string
	for range mostStops {
		tb.Key("\t")
		at := Evaluate[[]string](tb, `(e => [e.getAttribute("aria-label") || "", e.innerText.trim(), e.labels?.[0]?.innerText.trim() || ""])(document.activeElement)`)
		if slices.Contains(at, text) {
			return
		}
		seen = append(seen, strings.Join(at, " "))
	}
	tb.t.Fatalf("the tab key does not come to %q: %q", text, seen)
}

// Key presses keys of the keyboard, of which "\t" and "\r" are Tab and Enter.
func (tb *Tab) Key(keys string) {
	tb.t.Helper()
	tb.Do(chromedp.KeyEvent(keys))
}

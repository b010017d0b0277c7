package ui

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"mime"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

//go:embed templates
var templates embed.FS

// The pages of this package.
var (
	errorPage  = MustParse(templates, "templates/error.html")
	loginPage  = MustParse(templates, "templates/login.html")
	reloadPage = MustParse(templates, "templates/reload.html")
)

func (t *Template) execute(b *bytes.Buffer, block string, f *Frame) error {
	if err := t.all.ExecuteTemplate(b, block, f); err != nil {
		return fmt.Errorf("execute the template of %q: %w", f.Title, err)
	}
	return nil
}

// functions returns the functions of templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"static": staticAddress, "name": name, "plain": Plain, "lines": PlainLines, "time": showTime, "since": showSince,
		"duration": Duration, "bytes": Bytes, "number": Number, "count": Count, "percent": Percent,
		"state": state, "dict": dict,
	}
}

// dict returns a map of names and values in turn, for a template with several arguments.
func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// Plain returns text that users wrote without characters that control the display: C0, C1, and those that
// change the direction of text.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, text)
}

// PlainLines is Plain for a text of several lines, which keeps their ends and tabs.
func PlainLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		for j, c := range cells {
			cells[j] = Plain(c)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// name returns text that users wrote, isolated from the direction of the text around it.
func name(text string) template.HTML {
	return template.HTML("<bdi>" + template.HTMLEscapeString(Plain(text)) + "</bdi>") //nolint:gosec // it is escaped
}

// timeOf returns the time of a template's argument: a time.Time, a timestamp, or nothing.
func timeOf(at any) time.Time {
	switch t := at.(type) {
	case time.Time:
		return t
	case *time.Time:
		if t != nil {
			return *t
		}
	case *timestamppb.Timestamp:
		if t != nil {
			return t.AsTime()
		}
	}
	return time.Time{}
}

// showTime returns a time in UTC, which a script shows in the zone of the visitor.
func showTime(at any) template.HTML { return timeElement(at, "") }

// showSince returns a time that a script shows as the duration since then, as in "3 min".
func showSince(at any) template.HTML { return timeElement(at, ` data-since`) }

func timeElement(at any, attribute string) template.HTML {
	t := timeOf(at)
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s"%s>%s</time>`, //nolint:gosec // times have no markup
		t.Format(time.RFC3339), attribute, t.Format("2006-01-02 15:04:05 UTC")))
}

// Duration formats a duration with its two largest units, as in "2 h 5 min".
func Duration(d time.Duration) string {
	units := []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.length {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.length, u.name)
		if i+1 < len(units) {
			if rest := d % u.length / units[i+1].length; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0 s"
}

// whole returns the integer of a template's argument.
func whole(n any) int64 {
	switch n := n.(type) {
	case int:
		return int64(n)
	case int32:
		return int64(n)
	case int64:
		return n
	case uint64:
		return int64(n) //nolint:gosec // sizes have 63 bits
	}
	return 0
}

// Bytes formats a size, which is any integer, as in "1.5 GB".
func Bytes(n any) string {
	size := float64(whole(n))
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if math.Abs(size) < 1000 {
			return shortest(size) + " " + unit
		}
		size /= 1000
	}
	return shortest(size) + " TB"
}

// shortest formats a number with three significant digits, or all of its integer part.
func shortest(n float64) string {
	digits := 0
	switch {
	case n == math.Trunc(n) || math.Abs(n) >= 100:
	case math.Abs(n) >= 10:
		digits = 1
	default:
		digits = 2
	}
	return strconv.FormatFloat(n, 'f', digits, 64)
}

// Number formats a metric or another measured number with six significant digits.
func Number(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }

// Count formats any integer with a noun in the singular or plural, as in "1 slot" and "2 slots".
func Count(n any, singular string) string {
	if whole(n) == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %ss", whole(n), singular)
}

// Percent formats a part of 1.
func Percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 0, 64) + " %" }

// Costs returns what was used in money, such as "12.50 USD", or "" if no price is known.
func Costs(u *apiv1.ResourceUsage) string {
	text := ""
	for i, c := range u.GetCosts() {
		if i > 0 {
			text += " + "
		}
		text += fmt.Sprintf("%.2f %s", c.GetAmount(), c.GetCurrency())
	}
	if n := u.GetUnpricedSlotHours(); n > 0 && text != "" {
		text += fmt.Sprintf(" and %.2f slot-hours without a price", n)
	}
	return text
}

// tones maps states to the tone in which they are shown.
var tones = map[string]string{
	"running": "good", "starting": "busy", "pulling": "busy", "queued": "wait", "paused": "wait", "active": "good", "completed": "done",
	"canceled": "off", "stopped": "off", "errored": "bad", "error": "bad", "deleted": "off", "stopping": "busy", "terminating": "busy", "terminated": "done", "failed": "bad", "lost": "bad",
	"draining": "wait", "disabled": "wait", "enabled": "good", "waiting": "wait", "scheduled": "busy", "joined": "good", "gone": "off", "unprepared": "bad",
	"succeeded": "done", "busy": "good", "done": "done", "refused": "bad", "inactive": "off", "free": "off", "sick": "bad", "killed": "off", "preempted": "wait",
}

// state returns a state, such as STATE_RUNNING, in small letters with a mark. The text has the meaning; the
// colour only repeats it.
func state(of any) template.HTML {
	text := fmt.Sprint(of)
	if i := strings.LastIndex(text, "STATE_"); i >= 0 {
		text = text[i+len("STATE_"):]
	}
	text = strings.ToLower(strings.ReplaceAll(Plain(text), "_", " "))
	tone := "off"
	for word, t := range tones {
		if text == word || strings.HasPrefix(text, word+" ") {
			tone = t
		}
	}
	return template.HTML(`<span class="state ` + tone + `">` + template.HTMLEscapeString(text) + `</span>`) //nolint:gosec // it is escaped
}

// attachment returns the value of Content-Disposition for a file to save.
func attachment(file string) string {
	safe := strings.Map(func(r rune) rune {
		if r < ' ' || r == '/' || r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, firstBytes(file, 200))
	return mime.FormatMediaType("attachment", map[string]string{"filename": safe})
}

// firstBytes returns at most n bytes of text, and whole characters.
func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/template"

	"github.com/det-deploy/det-deploy/templates/engine"
)

type level int

func (l level) String() string { return fmt.Sprintf("level %d", int(l)) }

type inner struct{ Name string }

// sample is data of all the kinds that templates see.
func sample() map[string]any {
	return map[string]any{
		"name": "lab", "empty": "", "zero": 0, "five": 5, "big": uint64(1) << 63, "half": 0.5, "yes": true, "no": false, "nothing": nil,
		"list": []any{"a", 1, nil}, "words": []string{"b", "a"}, "none": []any{}, "array": [2]int{7, 8},
		"map":    map[string]any{"b": 2, "a": map[string]any{"deep": "x"}},
		"texts":  map[string]string{"k": "v"},
		"counts": map[int]string{2: "two", 1: "one"},
		"struct": struct {
			inner
			Label  string
			Ptr    *inner
			Null   *inner
			Level  level
			hidden int
		}{inner{"within"}, "l", &inner{"pointed"}, nil, 3, 1},
		"levels": []level{1, 2}, "bytes": []byte("hi"), "fn": strings.ToUpper,
	}
}

func funcs() map[string]any {
	return map[string]any{
		"upper": strings.ToUpper,
		"join":  func(sep string, words ...string) string { return strings.Join(words, sep) },
		"add":   func(a, b int) int { return a + b },
		"scale": func(f float64, v any) string { return fmt.Sprint(f, v) },
		"list":  func(v ...any) []any { return v },
		"dict":  func(k string, v any) map[string]any { return map[string]any{k: v} },
		"wrong": func() (string, error) { return "", errors.New("it is wrong") },
		"panic": func() string { panic("out of order") },
		"deref": func(i inner) string { return i.Name },
		"null":  func() map[string]any { return nil },
		"small": func(u uint8) uint8 { return u },
	}
}

// both executes a text with text/template, which is the reference, and with the engine.
func both(text string) (want, got string, wantErr, gotErr error) {
	data := sample()
	ref, err := template.New("main").Option("missingkey=zero").Funcs(funcs()).Parse(text)
	if err == nil {
		var b strings.Builder
		err = ref.Execute(&b, data)
		want = b.String()
	}
	wantErr = err
	set := engine.New(funcs())
	if gotErr = set.Parse("main", text); gotErr == nil {
		got, gotErr = set.Execute("main", data)
	}
	return want, got, wantErr, gotErr
}

// texts are what both must say the same of.
func texts() []string {
	return []string{
		"plain", "{{/* a comment */}}x", "a {{- 1 -}} b", `{{"text"}} {{1}} {{1.5}} {{'a'}} {{0x1e}} {{1e3}} {{true}} {{2i}}`,
		"{{.name}} {{.}} {{$.name}}", "{{.missing}}", "{{.texts.missing}}", "{{.map.a.deep}} {{.map.b}}", "{{.nothing}}", "{{.list}}", "{{.half}} {{.big}}",
		"{{.struct.Label}} {{.struct.Name}} {{.struct.Ptr.Name}} {{.struct.Level}} {{.struct.Ptr}}", "{{.levels}} {{index .levels 1}} {{.bytes}}",
		"{{if .name}}y{{else}}n{{end}}{{if .empty}}y{{else if .five}}five{{end}}{{if not .zero}}z{{end}}",
		"{{if .none}}y{{else}}n{{end}}{{if .struct}}s{{end}}{{if .struct.Null}}p{{end}}{{if .missing}}m{{end}}{{if .half}}h{{end}}{{if .fn}}f{{end}}",
		"{{with .map.a}}{{.deep}}{{$.name}}{{end}}{{with .empty}}x{{else with .name}}{{.}}{{else}}e{{end}}",
		"{{with $x := .five}}{{$x}}{{end}}", "{{$x := 1}}{{$x = 2}}{{$x}}{{if true}}{{$x = 3}}{{$y := 4}}{{$y}}{{end}}{{$x}}",
		"{{range .list}}<{{.}}>{{end}}{{range .none}}x{{else}}none{{end}}{{range $i, $v := .words}}{{$i}}{{$v}}{{end}}",
		"{{range $k, $v := .map}}{{$k}}={{$v}} {{end}}{{range .counts}}{{.}}{{end}}{{range $k, $_ := .counts}}{{$k}}{{end}}{{range .array}}{{.}}{{end}}",
		"{{range 3}}{{.}}{{end}}{{range .five}}{{if eq . 3}}{{break}}{{end}}{{if eq . 1}}{{continue}}{{end}}{{.}}{{end}}{{range .zero}}x{{else}}e{{end}}",
		"{{range $i := .words}}{{$i}}{{end}}{{$x := 0}}{{range $x = .array}}{{end}}{{$x}}{{range .nothing}}x{{else}}e{{end}}{{range .missing}}x{{end}}",
		`{{define "t"}}[{{.}}]{{end}}{{template "t" .name}}{{template "t"}}{{block "b" .five}}{{.}}{{end}}`,
		`{{define "e"}} {{end}}{{template "e"}}`, `{{define "v"}}{{$.name}}{{end}}{{$x := 1}}{{template "v" .}}`,
		`{{upper "a"}} {{"a" | upper}} {{join "," "a" "b"}} {{join ","}} {{add 1 .five}} {{5 | add 1}} {{scale 1 2}} {{scale 1.5 "x"}}`,
		`{{list 1 "a" nil .name (add 1 2)}} {{(dict "k" "v").k}} {{(list 1 2) | len}} {{dict "k" .missing}} {{small 200}} {{deref .struct.Ptr}}`,
		`{{and 1 0}} {{and 1 2}} {{or 0 "" "x"}} {{or 0 ""}} {{and .missing .missing.deeper}} {{or .name wrong}} {{1 | and 2}} {{not 1}} {{0 | or 0}}`,
		`{{eq 1 1}} {{eq 1 2 1}} {{eq "a" .name}} {{eq .nothing nil}} {{eq .name .nothing}} {{ne 1 2}} {{eq .five .big}} {{lt -1 .big}} {{gt .big .five}} {{ge 2 2}} {{le "a" "b"}} {{lt 0.5 .half}} {{eq true .yes}}`,
		`{{index .list 1}} {{index .map "a" "deep"}} {{index .texts "none"}}{{index .counts 1}} {{index .map "zz"}} {{index .name 0}} {{index .array 1}}`,
		`{{slice .name 1}} {{slice .name 1 2}} {{slice .words 0 1}} {{slice .list 0 1 2}} {{len .name}} {{len .map}} {{len .none}}`,
		`{{print 1 2 "a" "b"}} {{printf "%s-%05d %v %q" .name .five .nothing .list}} {{println "x"}}`, `{{print}}|{{printf "%T %T" 1.0 1}}`,
		`{{with null}}x{{else}}none{{end}}{{null}}{{range null}}x{{else}}n{{end}}`, "{{$x := .list}}{{$x}}{{len $x}}", "{{(.struct.Ptr).Name}} {{(.missing).deeper}}",
		// What both refuse.
		"{{.name.deeper}}", "{{.missing.deeper}}", "{{.nothing.deeper}}", "{{.struct.Unknown}}", "{{.struct.hidden}}", "{{.struct.Null.Name}}", "{{.five.x}}",
		"{{wrong}}", "a\n  {{ .name | printf \"%s\" | wrong }}", "{{upper 1}}", "{{upper .five}}", "{{upper}}", "{{add 1}}", "{{add 1 2 3}}", "{{add 1.5 1}}", "{{add nil 1}}", "{{upper .missing}}",
		"{{panic}}", "{{template \"none\"}}", "{{unknown 1}}", "{{$none}}", "{{if}}", "{{end}}", "{{range .name}}{{end}}", "{{range $i, $v := 3}}{{end}}", "{{range .half}}{{end}}",
		"{{.fn}}", "{{index .list 9}}", "{{index .missing 1}}", "{{index .list \"a\"}}", "{{index .five 1}}", "{{len 3}}", "{{len .missing}}", "{{eq 1 \"a\"}}", "{{eq 1 1.0}}", "{{eq .map .map}}", "{{lt .yes .no}}", "{{lt 1 \"a\"}}", "{{eq 1}}",
		`{{define "t"}}{{wrong}}{{end}}x{{template "t" .}}`, `{{"a" 1}}`, `{{1 | 2}}`, "{{nil}}", "{{slice .name 2 1}}", "{{slice .five 1}}", "{{.name | .five}}", "{{small 300.5}}", "{{small -1}}", "{{break}}", `{{define "r"}}{{template "r"}}{{end}}`,
	}
}

func TestTextsAreExecutedAsByTextTemplate(t *testing.T) {
	t.Parallel()
	for _, text := range texts() {
		want, got, wantErr, gotErr := both(text)
		if (wantErr != nil) != (gotErr != nil) {
			t.Errorf("%s:\ngot  %v\nwant %v", text, gotErr, wantErr)
			continue
		}
		if wantErr == nil && got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// What a user may be told of: where it happened, and what was said there.
func TestErrorsAreWrittenAsByTextTemplate(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{{.name.deeper}}", "{{.missing.deeper}}", "{{.struct.Unknown}}", "a\n\n {{ wrong }}", "{{if wrong}}{{end}}", "x{{range .list}}{{upper .}}{{end}}",
		`{{define "t"}}{{wrong}}{{end}}x{{template "t" .}}`, "{{add 1}}", "{{upper 1}}", `{{template "none"}}`, "{{panic}}", "{{unknown}}", "{{if}}", "{{add 1 (upper .five | len)}}",
	} {
		_, _, want, got := both(text)
		if got == nil || got.Error() != want.Error() {
			t.Errorf("%s:\ngot  %v\nwant %v", text, got, want)
		}
	}
}

func TestTemplatesOfSeveralTextsCallEachOther(t *testing.T) {
	t.Parallel()
	set := engine.New(nil)
	for name, text := range map[string]string{
		"parts": `{{define "greet"}}hello {{.}}{{end}}`, "main": `{{template "greet" .who}}`, "later": ` {{define "greet"}} {{end}}`,
	} {
		if err := set.Parse(name, text); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := set.Execute("main", map[string]string{"who": "you"}); got != "hello you" || err != nil {
		t.Errorf("got %q (%v), want the greeting: an empty definition replaces none", got, err)
	}
	if _, err := set.Execute("none", nil); err == nil {
		t.Error("got a template that is not there")
	}
}

func TestATemplateWithinItselfEnds(t *testing.T) {
	t.Parallel()
	set := engine.New(nil)
	if err := set.Parse("main", `{{template "main"}}`); err != nil {
		t.Fatal(err)
	}
	_, err := set.Execute("main", nil)
	if e, ok := errors.AsType[*engine.Error](err); !ok || e.Location != "main:1:11" || !strings.Contains(err.Error(), "maximum template depth") {
		t.Errorf("got %v, want the place and the bound", err)
	}
}

// FuzzTexts looks for texts of which text/template says something else. Functions of
// text/template's own, methods and what prints addresses are left out.
func FuzzTexts(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, word := range []string{"call", "html", "js", "urlquery", "String", "fn", "printf", "Ptr", "template", "block", "00000"} {
			if strings.Contains(text, word) {
				t.Skip()
			}
		}
		want, got, wantErr, gotErr := both(text)
		if wantErr == nil && (gotErr != nil || got != want) {
			t.Errorf("%q:\ngot  %q (%v)\nwant %q", text, got, gotErr, want)
		}
		if wantErr != nil && gotErr == nil {
			t.Errorf("%q:\ngot  %q\nwant %v", text, got, wantErr)
		}
	})
}

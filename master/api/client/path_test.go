package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/client"
)

// paths answers each request, and keeps its path.
type paths struct {
	mu   sync.Mutex // guards seen
	seen []string
}

func (p *paths) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r.URL.EscapedPath())
	_, _ = io.WriteString(w, "{}")
}

func (p *paths) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := slices.Compact(p.seen)
	p.seen = nil
	return seen
}

// textOf returns an argument whose texts are all the same.
func textOf(kind reflect.Type, text string) reflect.Value {
	out := reflect.New(kind).Elem()
	switch kind.Kind() {
	case reflect.String:
		out.SetString(text)
	case reflect.Pointer:
		out.Set(reflect.New(kind.Elem()))
		out.Elem().Set(textOf(kind.Elem(), text))
	case reflect.Struct:
		for i := range kind.NumField() {
			if f := kind.Field(i); f.IsExported() && f.Type.Kind() == reflect.String {
				out.Field(i).SetString(text)
			}
		}
	case reflect.Interface:
		if reader := reflect.ValueOf(strings.NewReader("")); reader.Type().Implements(kind) {
			out.Set(reader)
		}
	default: // no text
	}
	return out
}

// callAll calls a method with a text for all of its texts, and reads the sequence that it returns.
func callAll(ctx context.Context, m reflect.Value, text string) {
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for i := 1; i < m.Type().NumIn(); i++ {
		kind := m.Type().In(i)
		if m.Type().IsVariadic() && i == m.Type().NumIn()-1 {
			kind = kind.Elem()
		}
		in = append(in, textOf(kind, text))
	}
	for _, out := range m.Call(in) {
		if out.Type().CanSeq2() && out.Kind() == reflect.Func {
			for range out.Seq2() {
			}
		}
		if c, is := out.Interface().(io.Closer); is && !out.IsNil() {
			_ = c.Close()
		}
	}
}

// No name and no ID leads to another path than that of its call.
func TestPathsAreThoseOfTheCall(t *testing.T) {
	t.Parallel()
	seen := &paths{}
	srv := httptest.NewServer(seen)
	t.Cleanup(srv.Close)
	c, err := client.New(client.Config{URL: srv.URL, Token: "tok"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	found := 0
	all := reflect.ValueOf(c)
	for i := range all.NumMethod() {
		name, m := all.Type().Method(i).Name, all.Method(i)
		if m.Type().NumIn() == 0 || m.Type().In(0) != reflect.TypeFor[context.Context]() {
			continue
		}
		callAll(t.Context(), m, "NAME")
		usual := seen.take()
		if len(usual) == 0 || !strings.Contains(usual[0], "NAME") {
			continue
		}
		found++
		for _, text := range []string{"", ".", ".."} {
			callAll(t.Context(), m, text)
			if got := seen.take(); len(got) > 0 {
				t.Errorf("%s of %q: got requests to %v", name, text, got)
			}
		}
		for _, text := range []string{"../kill", "a/b", "a?b", "%2e%2e", "..%2f", "a#b", "/", "ü\n"} {
			callAll(t.Context(), m, text)
			want := strings.ReplaceAll(usual[0], "NAME", url.PathEscape(text))
			if got := seen.take(); len(got) == 0 || got[0] != want {
				t.Errorf("%s of %q: got requests to %v, want %s", name, text, got, want)
			}
		}
	}
	if found < 40 {
		t.Errorf("got %d calls with a name in their path, want at least 40", found)
	}
}

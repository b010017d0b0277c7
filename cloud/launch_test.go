package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
)

func TestCheckRejectsInvalidLaunch(t *testing.T) {
	t.Parallel()
	good := cloud.Launch{Token: "t", Count: 1, Offer: cloud.Offer{Type: "small", Price: cloud.Spot}}
	if err := good.Check(1); err != nil {
		t.Errorf("got %v, want none", err)
	}
	for want, change := range map[string]func(*cloud.Launch){
		"token of at most 1": func(l *cloud.Launch) { l.Token = "tt" },
		"(is \"\")":          func(l *cloud.Launch) { l.Token = "" },
		"count":              func(l *cloud.Launch) { l.Count = 0 },
		"instance type":      func(l *cloud.Launch) { l.Offer.Type = "" },
		"on-demand or spot":  func(l *cloud.Launch) { l.Offer.Price = "free" },
	} {
		l := good
		change(&l)
		if err := l.Check(1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTailConsole(t *testing.T) {
	t.Parallel()
	text := "first\n" + strings.Repeat("line\n", 99) + "last\r\n"
	got := cloud.TailConsole(text)
	if strings.Contains(got, "first") || !strings.HasSuffix(got, "\nlast") || strings.Count(got, "\n") != 99 {
		t.Errorf("got %q, want the last hundred lines", got)
	}
	if got := cloud.TailConsole("one\n"); got != "one" {
		t.Errorf("got %q, want one", got)
	}
}

var errNoMetadata = errors.New("no metadata service")

// The platform defines its own aliases for the addresses of a machine.
func TestResolveReplacesAliases(t *testing.T) {
	t.Parallel()
	m := cloud.MasterURL{
		Scheme: "https", Port: 8443, Aliases: []string{"inside", "outside", "lost"},
		LookUp: func(_ context.Context, alias string) (string, error) {
			if alias == "lost" {
				return "", errNoMetadata
			}
			return map[string]string{"inside": "fd00::7", "outside": "192.0.2.7"}[alias], nil
		},
		Unknown: func(what, fix string, err error) error { return fmt.Errorf("%s: %s: %w", what, fix, err) },
	}
	for given, want := range map[string]string{
		"":                      "https://[fd00::7]:8443",
		"http://outside:8080/x": "http://192.0.2.7:8080/x",
		"https://outside":       "https://192.0.2.7",
		"https://example.com":   "https://example.com",
	} {
		m.Given = given
		if got, err := m.Resolve(t.Context()); got != want || err != nil {
			t.Errorf("%q: got %q and %v, want %q", given, got, err, want)
		}
	}
	m.Given = "http://lost:8080"
	if _, err := m.Resolve(t.Context()); !errors.Is(err, errNoMetadata) || !strings.HasPrefix(err.Error(), "lost: set provider.master_url") {
		t.Errorf("got %v, want the unknown alias and the fix", err)
	}
	m.Given, m.Aliases = "", []string{"lost"}
	if _, err := m.Resolve(t.Context()); !errors.Is(err, errNoMetadata) || !strings.HasPrefix(err.Error(), "address: set") {
		t.Errorf("got %v, want that the address is not known", err)
	}
}

package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// FileSetting is the name under which the file itself is remembered; the other
// settings are named for their flags.
const FileSetting = "cluster.yaml"

// Given is what the user of one run said.
type Given struct {
	// File is the content of a cluster.yaml, FileName what messages call it; nil
	// when none was named.
	File     []byte
	FileName string
	// Flags is what was given by flag or environment, as the table names it.
	Flags []document.Given
}

// Lookup is what the user said of a setting; an empty flag leaves it to the file. The value
// of a list or mapping is empty.
func (g Given) Lookup(path string) (value string, found bool, err error) {
	for _, f := range g.Flags {
		if f.Path == path && f.Value != "" {
			return f.Value, true, nil
		}
		found = found || f.Path == path
	}
	d, err := document.Parse(g.File, g.FileName)
	if err != nil {
		return "", found, err
	}
	m := d.Root()
	for rest := path; ; {
		key, inner, nested := strings.Cut(rest, ".")
		n, ok := m.Get(key)
		if !ok {
			return "", found, nil
		}
		if !nested {
			return n.Text(), true, nil
		}
		if m, ok = n.Map(); !ok {
			return "", found, nil
		}
		rest = inner
	}
}

// Merge returns what is to be remembered after a run: what the user said now,
// and else what was said before. A new file takes the place of the one before as
// a whole, and of flags given before for what it mentions; a flag left out keeps
// its value. An empty flag takes a setting back. It reads the file into c.
func (t Table) Merge(c Cluster, given Given, recorded map[string]string) (map[string]string, error) {
	out := maps.Clone(recorded)
	if out == nil {
		out = make(map[string]string)
	}
	if given.File != nil {
		if err := t.forgetMentioned(c, given, out); err != nil {
			return nil, err
		}
		out[FileSetting] = string(given.File)
	}
	for _, g := range given.Flags {
		f, ok := t.Find(g.Path)
		switch {
		case !ok:
			return nil, fmt.Errorf("remember %s: no flag sets %s", g.Source, g.Path)
		case g.Value == "":
			delete(out, f.Flag)
		default:
			out[f.Flag] = storableValue(f, g)
		}
	}
	return out, nil
}

// forgetMentioned deletes the settings that a new file mentions, having read it into c.
func (t Table) forgetMentioned(c Cluster, given Given, settings map[string]string) error {
	d, err := document.Parse(given.File, given.FileName)
	if err != nil {
		return err
	}
	if err := explainUnreadable(d, c); err != nil {
		return err
	}
	for _, f := range t {
		if mentionsFlag(d, f.Path) {
			delete(settings, f.Flag)
		}
	}
	return nil
}

// storableValue is a value as it may be stored: of a secret in an environment variable,
// the variable's name.
func storableValue(f Flag, g document.Given) string {
	v, err := secret.Parse(g.Value)
	if f.Reference && g.Source == f.Env && err == nil && v.Reveal() != "" {
		return secret.Ref{Scheme: secret.Env, Name: f.Env}.String()
	}
	return g.Value
}

// mentionsFlag reports whether a decoded file has the setting of a flag.
func mentionsFlag(d *document.Document, path string) bool {
	if strings.HasPrefix(path, anyPool) {
		return d.Given("pools")
	}
	return d.Given(path)
}

// explainUnreadable says what cannot be read of a file, and which rules the rest of it
// breaks; missing settings may come from flags.
func explainUnreadable(d *document.Document, c Cluster) error {
	c.SetDefaults()
	unread := d.Decode(c)
	if len(unread) == 0 {
		return nil
	}
	c.Complete("")
	rules := slices.DeleteFunc(c.Validate(""), func(p document.Problem) bool { return !d.Given(p.Path) })
	return d.Blame(unread, rules)
}

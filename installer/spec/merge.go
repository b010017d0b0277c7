package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// FileSetting is the setting that records the file itself; other settings are named after their
// flags.
const FileSetting = "cluster.yaml"

// Given is the user's input of one run.
type Given struct {
	// File is the content of cluster.yaml, and FileName its name in error messages. File is nil if
	// the user gave none.
	File     []byte
	FileName string
	// Flags are the values given by flags or environment variables.
	Flags []document.Given
}

// Lookup returns the user's value of a setting. An empty flag leaves the setting to the file. The
// value of a list or mapping is returned as "".
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

// Merge returns the settings to record after a run: the values given now, over the recorded ones. A
// new file replaces the recorded file and also resets recorded flags for settings that it mentions.
// An omitted flag keeps its value; an empty flag resets it. Merge reads the file into c.
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

// forgetMentioned reads a new file into c and deletes the recorded flags for settings that it
// mentions.
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

// storableValue returns a value in the form to record: for a secret in an environment variable, a
// reference to the variable.
func storableValue(f Flag, g document.Given) string {
	v, err := secret.Parse(g.Value)
	if f.Reference && g.Source == f.Env && err == nil && v.Reveal() != "" {
		return secret.Ref{Scheme: secret.Env, Name: f.Env}.String()
	}
	return g.Value
}

// mentionsFlag reports whether a decoded file contains the setting of a flag.
func mentionsFlag(d *document.Document, path string) bool {
	if strings.HasPrefix(path, anyPool) {
		return d.Given("pools")
	}
	return d.Given(path)
}

// explainUnreadable returns the errors of decoding a file, with violated rules in the rest of it.
// It ignores missing settings, which may come from flags.
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

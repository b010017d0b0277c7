package spec

import (
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Cluster is the type of a platform's settings.
type Cluster interface {
	// SetDefaults sets the default settings.
	SetDefaults()
	// Complete sets the cluster's ID if it is empty, and the defaults that depend on other
	// settings.
	Complete(id string)
	// Validate returns all errors.
	Validate(path string) document.Errors
}

// Read reads the settings that Merge returned into c. It returns all errors at once, each with its
// line or flag.
func (t Table) Read(c Cluster, id string, settings map[string]string) error {
	d, err := document.Parse([]byte(settings[FileSetting]), FileSetting)
	if err != nil {
		return err
	}
	problems := t.applyFlags(d, settings)
	c.SetDefaults()
	problems = append(problems, d.Decode(c)...)
	c.Complete(id)
	rules := c.Validate("")
	if named, found := d.Root().Get("cluster_id"); found && !named.IsNull() && named.Text() != "" {
		rules.Check(named.Text() == id, "cluster_id", "is %q, but --cluster-id is %q; keep one", named.Text(), id)
	}
	problems = d.Blame(problems, rules)
	if settings[FileSetting] == "" {
		problems = dropPositions(problems)
	}
	problems.Sort()
	return problems.Err()
}

// dropPositions clears the positions of problems in the recorded file, which the user has not given
// now.
func dropPositions(problems document.Errors) document.Errors {
	for i := range problems {
		if problems[i].File == FileSetting {
			problems[i].File, problems[i].Line = "", 0
		}
	}
	return problems
}

// applyFlags sets the values of flags over those of the file.
func (t Table) applyFlags(d *document.Document, settings map[string]string) document.Errors {
	var problems document.Errors
	for _, f := range t {
		value, ok := settings[f.Flag]
		if !ok {
			continue
		}
		source := "--" + f.Flag
		path, err := resolvePool(d, f.Path)
		if err != "" {
			problems = append(problems, document.Problem{File: source, Text: err})
			continue
		}
		if f.Document {
			problems = append(problems, graftDocument(d, path, value, source)...)
			continue
		}
		if p := d.Set(path, value, source); p != nil {
			problems = append(problems, *p)
		}
	}
	return problems
}

// resolvePool returns the path of a flag in the single pool of tasks with slots.
func resolvePool(d *document.Document, path string) (string, string) {
	key, isPool := strings.CutPrefix(path, anyPool)
	if !isPool {
		return path, ""
	}
	names := []string{ComputePool}
	if n, ok := d.Root().Get("pools"); ok && !n.IsNull() {
		if m, ok := n.Map(); ok && len(m.Keys()) > 0 {
			names = m.Keys()
		}
	}
	if len(names) > 1 {
		return "", fmt.Sprintf("applies to a single pool, but the file has several (%s); set %s of that pool in the file", strings.Join(names, ", "), key)
	}
	return document.Join("pools", document.Join(names[0], key)), ""
}

// graftDocument sets a document from a flag under a key of d.
func graftDocument(d *document.Document, path, value, source string) document.Errors {
	sub, err := document.Parse([]byte(value), source)
	if err != nil {
		if problems, ok := err.(document.Errors); ok { //nolint:errorlint // Parse returns nothing else
			return problems
		}
		return document.Errors{{File: source, Text: err.Error()}}
	}
	m := d.Root()
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		child, ok := m.Get(key)
		if !ok || child.IsNull() {
			m.Take(key)
			m.Put(key, document.NewMap(sub.Root().Node()).Node())
			child, _ = m.Get(key)
		}
		if m, ok = child.Map(); !ok {
			return document.Errors{{File: source, Path: path, Text: "cannot be set: " + key + " is no mapping in the file"}}
		}
	}
	m.Take(keys[len(keys)-1])
	m.Put(keys[len(keys)-1], sub.Root().Node())
	return nil
}

package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
)

// Given is what the user of one run said.
type Given struct {
	// File is the content of a cluster.yaml, FileName what messages call it; nil
	// when none was named.
	File     []byte
	FileName string
	// Flags is what was given by flag or environment, as AWSOverrides names it.
	Flags []document.Given
}

// Contents replaces the value of every flag that names a file by the file's
// content.
func Contents(given []document.Given, read func(string) ([]byte, error)) ([]document.Given, error) {
	fromFile := map[string]bool{}
	for _, f := range AWSFlags() {
		fromFile[f.Path] = f.FromFile
	}
	out := slices.Clone(given)
	for i, g := range out {
		if !fromFile[g.Path] || g.Value == "" {
			continue
		}
		data, err := read(g.Value)
		if err != nil {
			return nil, fmt.Errorf("read the file of %s: %w", g.Source, err)
		}
		out[i].Value = string(data)
	}
	return out, nil
}

// MergeAWS returns what is to be remembered after a run: what the user said now,
// and else what was said before. A new file takes the place of the one before as
// a whole, and of flags given before for what it mentions; a flag left out keeps
// its value. An empty flag takes a setting back.
func MergeAWS(given Given, recorded map[string]string) (map[string]string, error) {
	out := maps.Clone(recorded)
	if out == nil {
		out = make(map[string]string)
	}
	if given.File != nil {
		d, err := document.Parse(given.File, given.FileName)
		if err != nil {
			return nil, err
		}
		if err := explainUnreadable(d); err != nil {
			return nil, err
		}
		for _, f := range AWSFlags() {
			if mentionsFlag(d, f.Path) {
				delete(out, f.Flag)
			}
		}
		out[FileSetting] = string(given.File)
	}
	byPath := map[string]AWSFlag{}
	for _, f := range AWSFlags() {
		byPath[f.Path] = f
	}
	for _, g := range given.Flags {
		f, ok := byPath[g.Path]
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

// storableValue is a value as it may be stored: of a secret in an environment variable,
// the variable's name.
func storableValue(f AWSFlag, g document.Given) string {
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
func explainUnreadable(d *document.Document) error {
	a := DefaultAWS()
	unread := d.Decode(&a)
	if len(unread) == 0 {
		return nil
	}
	a.fillDefaults()
	rules := slices.DeleteFunc(a.Validate(""), func(p document.Problem) bool { return !d.Given(p.Path) })
	return d.Blame(unread, rules)
}

// ReadAWS reads what MergeAWS returned. All complaints come at once, each with the
// line or the flag that is to blame.
func ReadAWS(cluster string, settings map[string]string) (AWS, *document.Document, error) {
	d, err := document.Parse([]byte(settings[FileSetting]), FileSetting)
	if err != nil {
		return AWS{}, nil, err
	}
	problems := applyFlags(d, settings)
	a := DefaultAWS()
	problems = append(problems, d.Decode(&a)...)
	if a.Cluster == "" {
		a.Cluster = cluster
	}
	a.fillDefaults()
	rules := a.Validate("")
	rules.Check(a.Cluster == cluster, "cluster_id", "is %q, and --cluster-id is %q; keep one", a.Cluster, cluster)
	problems = d.Blame(problems, rules)
	if settings[FileSetting] == "" {
		problems = dropPositions(problems)
	}
	problems.Sort()
	return a, d, problems.Err()
}

// dropPositions clears the positions of problems in a file that was not given.
func dropPositions(problems document.Errors) document.Errors {
	for i := range problems {
		if problems[i].File == FileSetting {
			problems[i].File, problems[i].Line = "", 0
		}
	}
	return problems
}

// ClusterOf is the id that a cluster.yaml gives, or "".
func ClusterOf(file []byte, name string) (string, error) {
	d, err := document.Parse(file, name)
	if err != nil {
		return "", err
	}
	n, ok := d.Root().Get("cluster_id")
	if !ok {
		return "", nil
	}
	return n.Text(), nil
}

// applyFlags sets the flags' values over the file's.
func applyFlags(d *document.Document, settings map[string]string) document.Errors {
	var problems document.Errors
	for _, f := range AWSFlags() {
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
		if f.Path == "master_yaml" || f.Path == "agents.config" {
			problems = append(problems, graftDocument(d, path, value, source)...)
			continue
		}
		if p := d.Set(path, value, source); p != nil {
			problems = append(problems, *p)
		}
	}
	return problems
}

// resolvePool finds the one pool that a pool's flag refers to.
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
		return "", fmt.Sprintf("is about one pool, and the file has several (%s); set %s of the one you mean in the file", strings.Join(names, ", "), key)
	}
	return document.Join("pools", document.Join(names[0], key)), ""
}

// graftDocument sets a document that a flag provides under a key of d.
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

package k8s

import (
	"context"
	"errors"
	"os"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// origin is a document with values.
type origin struct {
	*document.Document

	// kept is true for current values of the cluster, which come from no flag or file.
	kept bool
}

// origins lists the sources of the values; later ones take precedence. It omits sources that cannot be
// read twice, such as standard input.
func (v Values) origins(cluster string, kept chart.Values) []origin {
	var out []origin
	add := func(d *document.Document, kept bool) {
		var all document.Raw
		_ = d.Decode(&all) // decoding records the line of every value
		out = append(out, origin{d, kept})
	}
	generated := func(name string, values chart.Values, kept bool) {
		if data, err := yaml.Marshal(values); err == nil && len(values) > 0 {
			if d, err := document.Parse(data, name); err == nil {
				d.ForgetLines()
				add(d, kept)
			}
		}
	}
	generated("values of cluster "+cluster, kept, true)
	for _, file := range v.Files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if d, err := document.Parse(data, file); err == nil {
			add(d, false)
		}
	}
	for _, flag := range []struct {
		name  string
		given Values
	}{
		{"--set-json", Values{SetJSON: v.SetJSON}},
		{"--set", Values{Set: v.Set}},
		{"--set-string", Values{SetString: v.SetString}},
		{"--set-file", Values{SetFile: v.SetFile}},
	} {
		if values, err := MergeValues(flag.given); err == nil {
			generated(flag.name, values, false)
		}
	}
	return out
}

// refusedError reports values that the master rejects.
type refusedError struct {
	problems document.Errors
	// kept lists the paths of those that were not given in this command.
	kept []string
}

func (e *refusedError) Error() string { return e.problems.Error() }
func (e *refusedError) Unwrap() error { return e.problems }

// Hint explains how to correct values that come from no file or flag.
func (e *refusedError) Hint() string {
	if len(e.kept) == 0 {
		return ""
	}
	return "values that are not given are kept: remove this one with --set " + e.kept[0] + "=null, or reset all that are not given with --reset-values"
}

// locateRefusal adds to the problems of a document.Errors the file and line, or the flag, that each value
// comes from. It returns other errors unchanged.
func locateRefusal(err error, from []origin) error {
	problems, ours := errors.AsType[document.Errors](err)
	if !ours {
		return err
	}
	e := &refusedError{problems: slices.Clone(problems)}
	for i := range e.problems {
		p := &e.problems[i]
		best := ""
		for _, o := range slices.Backward(from) {
			if nearest, line := o.Nearest(p.Path); len(nearest) > len(best) {
				best, p.File, p.Line = nearest, o.Name(), line
				if o.kept {
					e.kept = append(e.kept, p.Path)
				}
			}
		}
	}
	e.problems.Sort()
	return e
}

// checkValues returns an error if the chart or the master rejects the values. It makes no calls to the
// server.
func (k *Opened) checkValues() error {
	out, err := helm.Render(helm.Release{Name: k.Target.Cluster, Namespace: k.Target.Namespace, Values: k.Target.Values, Chart: k.Target.Chart}, helm.NoServer())
	if err != nil {
		return err
	}
	return masterTakes(out, k.Target.Cluster)
}

// requireGoodValues returns an error if the chart or the master rejects the values. If the master does not
// serve, rejected values that come from no flag or file are dropped, because they may be misspelled names
// from a failed install that the corrected file no longer contains.
func (k *Opened) requireGoodValues(ctx context.Context, q Request) error {
	from := q.Given.origins(k.Target.Cluster, k.kept)
	err := locateRefusal(k.checkValues(), from)
	refused, ours := errors.AsType[*refusedError](err)
	if !ours || len(refused.kept) == 0 || !q.Given.isAny() {
		return err
	}
	serves, unseen := k.Target.Serves(ctx)
	if unseen != nil {
		return errors.Join(err, unseen)
	}
	if serves {
		return err
	}
	for _, path := range refused.kept {
		k.Target.Values = k.Target.Values.Without(path)
	}
	if err := locateRefusal(k.checkValues(), from); err != nil {
		return err
	}
	for _, path := range refused.kept {
		k.OtherEffects = append(k.OtherEffects, "The current value "+path+" is dropped because the master does not start with it.")
	}
	return nil
}

// isAny reports whether any value is given.
func (v Values) isAny() bool {
	return len(v.Files)+len(v.Set)+len(v.SetString)+len(v.SetFile)+len(v.SetJSON) > 0
}

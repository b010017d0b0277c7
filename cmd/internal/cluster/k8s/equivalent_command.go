package k8s

import (
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
	"reflect"
)

// printEquivalent shows the command line that says the same.
func (c *completion) printEquivalent() {
	if !c.asked {
		return
	}
	line := "det-deploy k8s install --cluster-id " + c.w.Cluster
	for _, f := range [][2]string{{"kubeconfig", c.w.Kubeconfig}, {"context", c.w.Context}, {"namespace", c.w.Namespace}} {
		if f[1] != "" {
			line += " --" + f[0] + " " + f[1]
		}
	}
	if c.w.CreateNamespace {
		line += " --create-namespace"
	}
	for _, f := range c.given.Files {
		line += " --values " + f
	}
	hidden := false
	for _, v := range c.given.Set {
		if hidesValue(v) {
			hidden = true // an answer is no secret; what was typed before may be
			continue
		}
		line += " --set " + v
	}
	c.Notef("")
	c.Notef("Equivalent command:")
	c.Notef("")
	c.Notef("  %s", line)
	if hidden || len(c.given.SetString)+len(c.given.SetFile)+len(c.given.SetJSON) > 0 {
		c.Notef("  with the other values that you gave")
	}
	c.Notef("")
}

// hidesValue reports whether a --set holds what is not to be shown.
func hidesValue(set string) bool {
	said, err := k8swire.MergeValues(k8swire.Values{Set: []string{set}})
	return err != nil || !reflect.DeepEqual(said.Shown(), said)
}

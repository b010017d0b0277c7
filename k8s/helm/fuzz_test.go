package helm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/k8s/helm"
)

// Any argument of --set is merged, or rejected without quoting it, because it may be a secret;
// values are validated against the schema with readable messages.
func FuzzValues(f *testing.F) {
	for _, s := range []string{"store.type=external", "a[0].b={1,2}", `a=b\,c`, "a[99999999]=1", "={", "store=null,extra=true", "a.b.c.d.e.f[1][2]=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, set string) {
		if len(set) > 2048 {
			return
		}
		const secret = "hunter2-fuzz"
		for _, given := range []helm.Given{{Set: []string{set + secret}}, {SetString: []string{set + secret}}, {SetJSON: []string{set + secret}}, {SetLiteral: []string{set + secret}}} {
			values, err := helm.Values(given)
			if err == nil {
				err = helm.CheckValues(sample(values))
				if err == nil {
					continue
				}
				if broken, ours := errors.AsType[*helm.ValuesError](err); ours && len(broken.Lines) == 0 {
					t.Errorf("%q is refused without a sentence", set)
				}
				continue // an unknown key is quoted
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q is quoted in %v", set+secret, err)
			}
		}
	})
}

package helm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/k8s/helm"
)

// Whatever --set is given, it is merged or refused without a word of it, because it may
// be a secret, and values are held against the schema in sentences.
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
				continue // a wrong key is named
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q is quoted in %v", set+secret, err)
			}
		}
	})
}

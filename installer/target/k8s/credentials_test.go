package k8s

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

func TestEachUserHasAFirstPassword(t *testing.T) {
	t.Parallel()
	elsewhere := func(key string) map[string]any { return map[string]any{"name": "given", "key": key} }
	both := map[string]string{"admin-password": "a", "determined-password": "d"}
	for _, tc := range []struct {
		name              string
		values            chart.Values
		made              map[string]string
		admin, determined string
	}{
		{"both were made", chart.Values{}, both, "a", "d"},
		{"the last version made one", chart.Values{}, map[string]string{"admin-password": "a"}, "a", "a"},
		{"one was given", chart.Values{"initialUserPassword": "g"}, nil, "g", "g"},
		{"its older name", chart.Values{"defaultPassword": "g"}, nil, "g", "g"},
		{"one was given, and made before", chart.Values{"initialUserPassword": "g"}, both, "g", "g"},
		{"one is elsewhere", chart.Values{"initialUserPasswordExistingSecret": elsewhere("one")}, nil, "1", "1"},
		{"determined's was given", chart.Values{"initialDeterminedPassword": "g"}, map[string]string{"admin-password": "a"}, "a", "g"},
		{
			"both are elsewhere",
			chart.Values{"initialUserPasswordExistingSecret": elsewhere("one"), "initialDeterminedPasswordExistingSecret": elsewhere("two")},
			nil, "1", "2",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			secret := func(name string, data map[string]string) *corev1.Secret {
				s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ml"}, Data: map[string][]byte{}}
				for k, v := range data {
					s.Data[k] = []byte(v)
				}
				return s
			}
			target := &Target{
				Cluster: "lab", Namespace: "ml", Values: tc.values,
				API: fake.NewClientset(secret(secretsPrefix+"lab", tc.made), secret("given", map[string]string{"one": "1", "two": "2"})),
			}
			c, err := target.Credentials(t.Context())
			if err != nil || c.Password.Reveal() != tc.admin {
				t.Errorf("got %q of admin, %v, want %q", c.Password.Reveal(), err, tc.admin)
			}
			d, err := target.DeterminedPassword(t.Context())
			if err != nil || d.Reveal() != tc.determined {
				t.Errorf("got %q of determined, %v, want %q", d.Reveal(), err, tc.determined)
			}
		})
	}
}

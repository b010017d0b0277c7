package podspec_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestEachTaskPullsWithACopyOfTheClustersSignIns(t *testing.T) {
	t.Parallel()
	for _, content := range []map[string][]byte{
		{".dockerconfigjson": []byte(`{"auths":{"a.test":{"auth":"Y2x1c3Rlcg=="}},"credsStore":"x"}`)},
		{".dockercfg": []byte(`{"a.test":{"auth":"Y2x1c3Rlcg=="}}`)},
	} {
		logins, err := podspec.ParseLogins(content)
		if err != nil {
			t.Fatal(err)
		}
		r := request(0, template(), func(s *agentv1.Spec) {
			s.RegistryAuth = &agentv1.RegistryAuth{Auth: "b3du", ServerAddress: "b.test"}
		})
		r.Template.PullSecrets, r.Template.Logins = []string{"regcred"}, logins
		o, err := podspec.Build(r)
		if err != nil {
			t.Fatal(err)
		}
		copied := o.Secrets[len(o.Secrets)-1]
		if refs := o.Job.Spec.Template.Spec.ImagePullSecrets; len(refs) != 1 || refs[0].Name != copied.Name {
			t.Errorf("got %v, want the task's own Secret %s alone", refs, copied.Name)
		}
		want := `{"auths":{"a.test":{"auth":"Y2x1c3Rlcg=="},"b.test":{"auth":"b3du"}}}`
		if got := string(copied.Data[".dockerconfigjson"]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if len(logins) != 1 {
			t.Error("the task's sign-in is now the cluster's")
		}
	}
}

func TestInvalidPullSecretIsReported(t *testing.T) {
	t.Parallel()
	if l, err := podspec.ParseLogins(nil); len(l) != 0 || err != nil {
		t.Errorf("nothing: got %v, %v", l, err)
	}
	if _, err := podspec.ParseLogins(map[string][]byte{".dockerconfigjson": []byte("x")}); err == nil || !strings.Contains(err.Error(), "no configuration of Docker") {
		t.Errorf("got %v, want that it is none", err)
	}
}

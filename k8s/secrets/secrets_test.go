package secrets_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/det-deploy/det-deploy/k8s/secrets"
	"github.com/det-deploy/det-deploy/master/api/password"
)

func wanted(keys ...string) secrets.Wanted {
	return secrets.Wanted{Name: "determined-secrets-lab", Cluster: "lab", Keys: keys}
}

func TestASecondCallChangesNothing(t *testing.T) {
	t.Parallel()
	api := fake.NewClientset().CoreV1().Secrets("ml")
	first, err := secrets.Ensure(t.Context(), api, wanted("admin-password", "db-password"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := secrets.Ensure(t.Context(), api, wanted("admin-password", "db-password"))
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(first, second) || string(first["admin-password"]) == string(first["db-password"]) {
		t.Errorf("got other values the second time, or one for both entries")
	}
	s, err := api.Get(t.Context(), "determined-secrets-lab", metav1.GetOptions{})
	if err != nil || s.Labels["det-deploy.dev/cluster"] != "lab" || s.Labels["app.kubernetes.io/managed-by"] != "det-deploy" {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestLaterEntryIsAdded(t *testing.T) {
	t.Parallel()
	api := fake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "determined-secrets-lab", Namespace: "ml"},
		Data:       map[string][]byte{"admin-password": []byte("given by hand"), "other": []byte("left alone")},
	}).CoreV1().Secrets("ml")
	got, err := secrets.Ensure(t.Context(), api, wanted("admin-password", "db-password"))
	if err != nil || string(got["admin-password"]) != "given by hand" || len(got["db-password"]) == 0 || len(got) != 2 {
		t.Fatalf("got entries %d, %v", len(got), err)
	}
	s, err := api.Get(t.Context(), "determined-secrets-lab", metav1.GetOptions{})
	if err != nil || string(s.Data["other"]) != "left alone" {
		t.Errorf("got %v, %v", s.Data["other"], err)
	}
}

// The pods of the master and of the database start at the same time.
func TestConcurrentCreatorsGetTheSame(t *testing.T) {
	t.Parallel()
	api := fake.NewClientset().CoreV1().Secrets("ml")
	const many = 8
	got := make([]map[string][]byte, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			var err error
			if got[i], err = secrets.Ensure(t.Context(), api, wanted("db-password")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, g := range got[1:] {
		if !cmp.Equal(g, got[0]) {
			t.Errorf("got different values")
		}
	}
}

func TestConcurrentSecretIsKept(t *testing.T) {
	t.Parallel()
	kube := fake.NewClientset()
	once := sync.OnceValue(func() error {
		return kube.Tracker().Add(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "determined-secrets-lab", Namespace: "ml"},
			Data:       map[string][]byte{"db-password": []byte("theirs")},
		})
	})
	kube.PrependReactor("create", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		if err := once(); err != nil {
			return true, nil, err
		}
		return true, nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, "determined-secrets-lab")
	})
	got, err := secrets.Ensure(t.Context(), kube.CoreV1().Secrets("ml"), wanted("db-password"))
	if err != nil || string(got["db-password"]) != "theirs" {
		t.Errorf("got %q, %v, want theirs", got["db-password"], err)
	}
}

func TestADeniedCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	kube := fake.NewClientset()
	calls := 0
	kube.PrependReactor("get", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		calls++
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", nil)
	})
	_, err := secrets.Ensure(t.Context(), kube.CoreV1().Secrets("ml"), wanted("db-password"))
	if !apierrors.IsForbidden(err) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestPasswordsKeepTheRule(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 500 {
		p, err := secrets.Password()
		if err != nil || !password.Strong(p) || len(p) != 24 || seen[p] {
			t.Fatalf("got a password of %d characters that is weak or was made before, %v", len(p), err)
		}
		seen[p] = true
	}
}

func TestFilesAreForThePodAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "db-password")
	if err := os.WriteFile(path, []byte("half"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := secrets.Write(dir, map[string][]byte{"db-password": []byte("whole")}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(got) != "whole" || info.Mode().Perm() != 0o440 {
		t.Errorf("got %q, %v, %v, %v", got, info, err, statErr)
	}
}

// An earlier version generated one password for both users.
func TestLegacyPasswordIsCopied(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before map[string][]byte
		copied bool
	}{
		"a Secret of the last version":        {map[string][]byte{"admin-password": []byte("for both"), "db-password": []byte("x")}, true},
		"a Secret that the database has made": {map[string][]byte{"db-password": []byte("x")}, false},
		"an empty Secret":                     {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := fake.NewClientset(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "determined-secrets-lab", Namespace: "ml"}, Data: tc.before,
			}).CoreV1().Secrets("ml")
			w := wanted("admin-password", "determined-password")
			w.Copies = map[string]string{"determined-password": "admin-password"}
			first, err := secrets.Ensure(t.Context(), api, w)
			if err != nil {
				t.Fatal(err)
			}
			admin, determined := string(first["admin-password"]), string(first["determined-password"])
			if (admin == determined) != tc.copied || admin == "" || determined == "" || tc.copied && admin != "for both" {
				t.Errorf("got the same for both %v, want %v", admin == determined, tc.copied)
			}
			second, err := secrets.Ensure(t.Context(), api, w)
			if err != nil || !cmp.Equal(first, second) {
				t.Errorf("got other values the second time, %v", err)
			}
		})
	}
}
